export { h, render, Fragment } from "preact";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { default as htm } from "htm";
export { default as uPlot } from "uplot";
