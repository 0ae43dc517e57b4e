/* Forward and backward passes of a dense network with ReLU between its layers.
 *
 * Values and slopes lie unit by unit: [units][stride], one column for each row of the batch, so
 * that a product reads whole vectors of rows without turning any matrix first. Columns behind the
 * last row hold zeros or whatever zeros become; nothing of them is summed.
 *
 * NaN passes through ReLU, as it does in torch: a network that is lost must say so.
 */

#include <stddef.h>
#include <string.h>

#if defined(__AVX512F__)
#define WIDTH 16 /* floats of a vector */
#define TALL 12  /* rows of a tile: 24 of 32 registers hold sums */
#else
#define WIDTH 8
#define TALL 6 /* 12 of 16 */
#endif
#define PANEL (2 * WIDTH) /* columns of a tile */
#define DEPTH 512         /* of a panel that is multiplied at once: it stays in the nearest cache */

typedef float vector __attribute__((vector_size(4 * WIDTH), aligned(4)));
typedef int mask __attribute__((vector_size(4 * WIDTH), aligned(4)));

/* One product: out (m x n) = left (m x k) right (k x n), and what is done to it at the end. */
typedef struct {
    int m, n, k;
    const float *left;
    ptrdiff_t left_m, left_k; /* how far apart neighbours are */
    const float *right;
    ptrdiff_t right_stride;
    int right_turned; /* right is given as n x k */
    float *out;
    ptrdiff_t out_stride;
    const float *bias;  /* for each of m, or null */
    int relu;           /* negative results become 0 */
    const float *alive; /* results become 0 where this, laid out as `out`, is not above 0; or null */
} product;

static vector without_negative(vector value) {
    return (vector)((mask)value & ~(value < (vector){0}));
}

static vector where_positive(vector value, vector of) {
    return (vector)((mask)value & ~(of <= (vector){0}));
}

/* `rows` x PANEL results; `rows` is known when this is compiled, so that sums stay in registers. */
static inline __attribute__((always_inline)) void tile_of(
    const int rows, int depth, const float *left, ptrdiff_t left_m, ptrdiff_t left_k,
    const float *panel, float *out, ptrdiff_t stride, int first, const float *bias, int relu,
    const float *alive) {
    vector sums[TALL][2];
#pragma GCC unroll 16
    for (int row = 0; row < rows; row++) {
        for (int half = 0; half < 2; half++)
            sums[row][half] =
                first ? (vector){0} : *(const vector *)(out + row * stride + half * WIDTH);
    }
    for (int k = 0; k < depth; k++, panel += PANEL, left += left_k) {
        vector low = *(const vector *)panel, high = *(const vector *)(panel + WIDTH);
#pragma GCC unroll 16
        for (int row = 0; row < rows; row++) {
            float factor = left[row * left_m];
            sums[row][0] += factor * low;
            sums[row][1] += factor * high;
        }
    }
#pragma GCC unroll 16
    for (int row = 0; row < rows; row++) {
        for (int half = 0; half < 2; half++) {
            vector value = sums[row][half];
            ptrdiff_t place = row * stride + half * WIDTH;
            if (bias) value += bias[row];
            if (relu) value = without_negative(value);
            if (alive) value = where_positive(value, *(const vector *)(alive + place));
            *(vector *)(out + place) = value;
        }
    }
}

static void tile(int rows, int depth, const float *left, ptrdiff_t left_m, ptrdiff_t left_k,
                 const float *panel, float *out, ptrdiff_t stride, int first, const float *bias,
                 int relu, const float *alive) {
#define OF(ROWS)                                                                                 \
    case ROWS:                                                                                   \
        tile_of(ROWS, depth, left, left_m, left_k, panel, out, stride, first, bias, relu, alive); \
        break;
    switch (rows) {
        OF(TALL)
        OF(4)
        OF(2)
        OF(1)
    }
#undef OF
}

/* The part of `right` that a column of tiles needs, in one piece; zeros behind its last column. */
static void pack(const product *p, int column, int from, int depth, float *panel) {
    int columns = p->n - column < PANEL ? p->n - column : PANEL;
    ptrdiff_t stride = p->right_stride;
    if (columns < PANEL) memset(panel, 0, sizeof(float) * PANEL * (size_t)depth);
    if (p->right_turned) {
        const float *source = p->right + column * stride + from;
        for (int k = 0; k < depth; k++)
            for (int n = 0; n < columns; n++) panel[k * PANEL + n] = source[n * stride + k];
    } else {
        const float *source = p->right + from * stride + column;
        for (int k = 0; k < depth; k++, source += stride, panel += PANEL)
            memcpy(panel, source, sizeof(float) * (size_t)columns);
    }
}

/* A tile whose last columns are not the caller's: computed aside, and copied as far as they are. */
static void edge(const product *p, int rows, int row, int column, int from, int depth,
                 const float *panel) {
    float aside[TALL * PANEL];
    int columns = p->n - column;
    float *out = p->out + row * p->out_stride + column;
    for (int r = 0; r < rows; r++)
        memcpy(aside + r * PANEL, out + r * p->out_stride, sizeof(float) * (size_t)columns);
    tile(rows, depth, p->left + row * p->left_m + from * p->left_k, p->left_m, p->left_k, panel,
         aside, PANEL, from == 0, NULL, 0, NULL);
    for (int r = 0; r < rows; r++)
        memcpy(out + r * p->out_stride, aside + r * PANEL, sizeof(float) * (size_t)columns);
}

static void multiply(const product *p, float *panel) {
    for (int column = 0; column < p->n; column += PANEL) {
        for (int from = 0; from < p->k; from += DEPTH) {
            int depth = p->k - from < DEPTH ? p->k - from : DEPTH, last = from + depth == p->k;
            pack(p, column, from, depth, panel);
            for (int row = 0, rows; row < p->m; row += rows) {
                int left = p->m - row;
                rows = left >= TALL ? TALL : left >= 4 ? 4 : left >= 2 ? 2 : 1;
                if (p->n - column < PANEL) {
                    edge(p, rows, row, column, from, depth, panel);
                    continue;
                }
                ptrdiff_t place = row * p->out_stride + column;
                tile(rows, depth, p->left + row * p->left_m + from * p->left_k, p->left_m,
                     p->left_k, panel, p->out + place, p->out_stride, from == 0,
                     last && p->bias ? p->bias + row : NULL, last && p->relu,
                     last && p->alive ? p->alive + place : NULL);
            }
        }
    }
}

/* rows x units to units x stride, with zeros behind the last row. */
static void turn(const float *from, int rows, int units, float *to, ptrdiff_t stride) {
    for (int unit = 0; unit < units; unit++) {
        for (int row = 0; row < rows; row++) to[unit * stride + row] = from[row * units + unit];
        for (int row = rows; row < stride; row++) to[unit * stride + row] = 0;
    }
}

static void turn_back(const float *from, ptrdiff_t stride, int units, float *to, int rows) {
    for (int row = 0; row < rows; row++)
        for (int unit = 0; unit < units; unit++) to[row * units + unit] = from[unit * stride + row];
}

static float sum(const float *values, int count) {
    vector sums = {0};
    float total = 0;
    int at = 0;
    for (; at + WIDTH <= count; at += WIDTH) sums += *(const vector *)(values + at);
    for (int lane = 0; lane < WIDTH; lane++) total += sums[lane];
    for (; at < count; at++) total += values[at];
    return total;
}

static float dot(const float *left, const float *right, int count) {
    vector sums[2] = {{0}, {0}};
    float total = 0;
    int at = 0;
    for (; at + PANEL <= count; at += PANEL) {
        sums[0] += *(const vector *)(left + at) * *(const vector *)(right + at);
        sums[1] += *(const vector *)(left + at + WIDTH) * *(const vector *)(right + at + WIDTH);
    }
    sums[0] += sums[1];
    for (int lane = 0; lane < WIDTH; lane++) total += sums[0][lane];
    for (; at < count; at++) total += left[at] * right[at];
    return total;
}

/* Columns that `rows` rows take, and floats that a panel takes. */
int stride_of(int rows) {
    int stride = (rows + PANEL - 1) / PANEL * PANEL;
    return stride % 128 ? stride : stride + 16; /* or neighbours share few places of the cache */
}

int panel_size(void) { return PANEL * DEPTH; }

/* `values` takes all layers' one after the other, the inputs first. Weights of a layer are
 * [outputs][inputs], its biases behind them. */
void forward(int layers, const int *sizes, int rows, const float *parameters, const float *inputs,
             float *values, float *outputs, float *panel) {
    ptrdiff_t stride = stride_of(rows);
    turn(inputs, rows, sizes[0], values, stride);
    for (int layer = 0; layer < layers; layer++) {
        int below = sizes[layer], above = sizes[layer + 1];
        float *next = values + below * stride;
        product p = {.m = above, .n = (rows + PANEL - 1) / PANEL * PANEL, .k = below,
                     .left = parameters, .left_m = below, .left_k = 1,
                     .right = values, .right_stride = stride, .out = next, .out_stride = stride,
                     .bias = parameters + (ptrdiff_t)above * below, .relu = layer + 1 < layers};
        multiply(&p, panel);
        parameters += (ptrdiff_t)above * (below + 1);
        values = next;
    }
    turn_back(values, stride, sizes[layers], outputs, rows);
}

/* Slopes of the inputs from column `from` on are only computed if `input_slopes` is not null,
 * those of weights only if `gradient` is not. `slopes` holds two layers. */
void backward(int layers, const int *sizes, int rows, const float *parameters, const float *values,
              const float *output_slopes, float *gradient, float *input_slopes, int from,
              float *slopes, int widest, float *panel) {
    ptrdiff_t stride = stride_of(rows);
    int columns = (rows + PANEL - 1) / PANEL * PANEL;
    float *delta = slopes, *below_delta = slopes + widest * stride;
    ptrdiff_t weights = 0, units = 0;
    for (int layer = 0; layer < layers; layer++) {
        weights += (ptrdiff_t)sizes[layer + 1] * (sizes[layer] + 1);
        units += sizes[layer];
    }
    turn(output_slopes, rows, sizes[layers], delta, stride);
    for (int layer = layers - 1; layer >= 0; layer--) {
        int below = sizes[layer], above = sizes[layer + 1];
        weights -= (ptrdiff_t)above * (below + 1);
        units -= below;
        const float *weight = parameters + weights, *value = values + units * stride;
        if (gradient) {
            float *of_weight = gradient + weights, *of_bias = of_weight + (ptrdiff_t)above * below;
            if (above < 4) {
                for (int o = 0; o < above; o++)
                    for (int i = 0; i < below; i++)
                        of_weight[o * below + i] =
                            dot(delta + o * stride, value + i * stride, rows);
            } else {
                product p = {.m = above, .n = below, .k = rows,
                             .left = delta, .left_m = stride, .left_k = 1,
                             .right = value, .right_stride = stride, .right_turned = 1,
                             .out = of_weight, .out_stride = below};
                multiply(&p, panel);
            }
            for (int o = 0; o < above; o++) of_bias[o] = sum(delta + o * stride, rows);
        }
        int first = layer ? 0 : from, wanted = below - first;
        if (!layer && !input_slopes) return;
        product p = {.m = wanted, .n = columns, .k = above,
                     .left = weight + first, .left_m = 1, .left_k = below,
                     .right = delta, .right_stride = stride,
                     .out = below_delta, .out_stride = stride, .alive = layer ? value : NULL};
        multiply(&p, panel);
        float *done = delta;
        delta = below_delta;
        below_delta = done;
    }
    turn_back(delta, stride, sizes[0] - from, input_slopes, rows);
}
