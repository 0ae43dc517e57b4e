begin();
