// runs
// Textures of arrays and of plain memory: points and linear filtering, clamped, wrapped, mirrored,
// with a border; whole numbers as floats; layers; surfaces.
#include <math.h>
#include "test.h"

__global__ void read_1d(cudaTextureObject_t t, const float* x, float* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1D<float>(t, x[i]);
}
__global__ void read_2d(cudaTextureObject_t t, const float2* at, float* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex2D<float>(t, at[i].x, at[i].y);
}
__global__ void fetch(cudaTextureObject_t t, int4* out, int n) {
    int i = (int)threadIdx.x - 1;
    if (i <= n) out[threadIdx.x] = tex1Dfetch<int4>(t, i);
}
__global__ void layers(cudaTextureObject_t t, float* out, int w, int h) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    out[(z * h + y) * w + x] = tex2DLayered<float>(t, x + 0.5f, y + 0.5f, z);
}
__global__ void add_one(cudaSurfaceObject_t s, int w, int h) {
    int x = threadIdx.x, y = threadIdx.y;
    uchar4 v;
    surf2Dread(&v, s, x * (int)sizeof v, y);
    v.x++;
    if (x < w && y < h) surf2Dwrite(v, s, x * (int)sizeof v, y);
}

static cudaTextureObject_t of(cudaResourceDesc resource, cudaTextureAddressMode mode,
                              cudaTextureFilterMode filter, bool normalised, bool as_float) {
    cudaTextureDesc how;
    memset(&how, 0, sizeof how);
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = mode;
    how.filterMode = filter;
    how.normalizedCoords = normalised;
    how.readMode = as_float ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    how.borderColor[0] = 0.25f;
    cudaTextureObject_t t = 0;
    CHECK_CUDA(cudaCreateTextureObject(&t, &resource, &how, NULL));
    return t;
}

static void check_1d() {
    const float line[5] = {1, 2, 4, 8, 16};
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK_CUDA(cudaMallocArray(&array, &channels, 5));
    CHECK_CUDA(cudaMemcpy2DToArray(array, 0, 0, line, sizeof line, sizeof line, 1,
                                   cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    const float at[6] = {0.5f, 1.0f, 2.75f, -3.0f, 9.0f, 4.5f};
    float *at_gpu, *out_gpu, out[6];
    CHECK_CUDA(cudaMalloc(&at_gpu, sizeof at));
    CHECK_CUDA(cudaMalloc(&out_gpu, sizeof at));
    CHECK_CUDA(cudaMemcpy(at_gpu, at, sizeof at, cudaMemcpyHostToDevice));
    const struct {
        cudaTextureAddressMode mode;
        cudaTextureFilterMode filter;
        float want[6];
    } cases[] = {
        {cudaAddressModeClamp, cudaFilterModePoint, {1, 2, 4, 1, 16, 16}},
        {cudaAddressModeClamp, cudaFilterModeLinear, {1, 1.5f, 5, 1, 16, 16}},
        {cudaAddressModeBorder, cudaFilterModePoint, {1, 2, 4, 0.25f, 0.25f, 16}},
    };
    for (auto& c : cases) {
        cudaTextureObject_t t = of(resource, c.mode, c.filter, false, false);
        read_1d<<<1, 32>>>(t, at_gpu, out_gpu, 6);
        CHECK_CUDA(cudaMemcpy(out, out_gpu, sizeof out, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 6; i++) CHECK(out[i] == c.want[i]);
        CHECK_CUDA(cudaDestroyTextureObject(t));
    }
    // normalised: the line repeats, or goes back and forth
    const float places[6] = {0.1f, 1.1f, -0.1f, 1.3f, -0.5f, 2.9f};
    CHECK_CUDA(cudaMemcpy(at_gpu, places, sizeof at, cudaMemcpyHostToDevice));
    for (int mirror = 0; mirror < 2; mirror++) {
        const float want[2][6] = {{1, 1, 16, 2, 4, 16}, {1, 16, 1, 8, 4, 1}};
        cudaTextureObject_t t = of(resource, mirror ? cudaAddressModeMirror : cudaAddressModeWrap,
                                   cudaFilterModePoint, true, false);
        read_1d<<<1, 32>>>(t, at_gpu, out_gpu, 6);
        CHECK_CUDA(cudaMemcpy(out, out_gpu, sizeof out, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 5; i++) CHECK(out[i] == want[mirror][i]);
        CHECK_CUDA(cudaDestroyTextureObject(t));
    }
    CHECK_CUDA(cudaFreeArray(array));
}

// Pitched memory of bytes, read as 0 to 1 between its elements.
static void check_2d() {
    enum { W = 6, H = 4, N = 5 };
    unsigned char image[H][W];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) image[y][x] = (unsigned char)(40 * y + 7 * x);
    unsigned char* p;
    size_t pitch;
    CHECK_CUDA(cudaMallocPitch(&p, &pitch, W, H));
    CHECK_CUDA(cudaMemcpy2D(p, pitch, image, W, W, H, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = p;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
    resource.res.pitch2D.width = W;
    resource.res.pitch2D.height = H;
    resource.res.pitch2D.pitchInBytes = pitch;
    const float2 at[N] = {{0.5f, 0.5f}, {2.0f, 1.5f}, {3.25f, 2.75f}, {-4, 9}, {5.5f, 3.5f}};
    float2* at_gpu;
    float *out_gpu, out[N];
    CHECK_CUDA(cudaMalloc(&at_gpu, sizeof at));
    CHECK_CUDA(cudaMalloc(&out_gpu, sizeof out));
    CHECK_CUDA(cudaMemcpy(at_gpu, at, sizeof at, cudaMemcpyHostToDevice));
    cudaTextureObject_t t = of(resource, cudaAddressModeClamp, cudaFilterModeLinear, false, true);
    read_2d<<<1, 32>>>(t, at_gpu, out_gpu, N);
    CHECK_CUDA(cudaMemcpy(out, out_gpu, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        // bilinear in its own words: the plane 40 y + 7 x, within the centres of the corners
        float x = fminf(fmaxf(at[i].x - 0.5f, 0), W - 1),
              y = fminf(fmaxf(at[i].y - 0.5f, 0), H - 1);
        CHECK(fabsf(out[i] * 255 - (40 * y + 7 * x)) < 1e-3f);
    }
    // whole numbers are not filtered as they are
    cudaTextureDesc how = {};
    how.filterMode = cudaFilterModeLinear;
    CHECK(cudaCreateTextureObject(&t, &resource, &how, NULL) == cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

static void check_fetch() {
    enum { N = 10 };
    int4 host[N], got[N + 2], *in, *out;
    for (int i = 0; i < N; i++) host[i] = make_int4(i, -i, 2 * i, 1 << i);
    CHECK_CUDA(cudaMalloc(&in, sizeof host));
    CHECK_CUDA(cudaMalloc(&out, sizeof got));
    CHECK_CUDA(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = in;
    resource.res.linear.desc = cudaCreateChannelDesc<int4>();
    resource.res.linear.sizeInBytes = sizeof host;
    cudaTextureObject_t t = of(resource, cudaAddressModeClamp, cudaFilterModePoint, false, false);
    fetch<<<1, 32>>>(t, out, N);
    CHECK_CUDA(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(got[0].w == 0 && got[N + 1].w == 0);
    for (int i = 0; i < N; i++) CHECK(got[i + 1].y == -i && got[i + 1].w == 1 << i);
}

// Three dimensions by cudaMemcpy3D; the layers of an array.
static void check_layers() {
    enum { W = 4, H = 3, LAYERS = 2 };
    float host[LAYERS][H][W], out[LAYERS * H * W], *out_gpu;
    for (int i = 0; i < LAYERS * H * W; i++) (&host[0][0][0])[i] = (float)(i * i);
    cudaChannelFormatDesc channels = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaArray_t array;
    CHECK_CUDA(
        cudaMalloc3DArray(&array, &channels, make_cudaExtent(W, H, LAYERS), cudaArrayLayered));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, W * sizeof(float), W, H);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(W, H, LAYERS);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK_CUDA(cudaMemcpy3D(&copy));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureObject_t t = of(resource, cudaAddressModeClamp, cudaFilterModePoint, false, false);
    CHECK_CUDA(cudaMalloc(&out_gpu, sizeof out));
    layers<<<1, dim3(W, H, LAYERS)>>>(t, out_gpu, W, H);
    CHECK_CUDA(cudaMemcpy(out, out_gpu, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < LAYERS * H * W; i++) CHECK(out[i] == (float)(i * i));
}

static void check_surface() {
    enum { W = 5, H = 3 };
    uchar4 host[H][W], out[H][W];
    for (int i = 0; i < W * H; i++) (&host[0][0])[i] = make_uchar4((unsigned char)i, 1, 2, 3);
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array;
    CHECK_CUDA(cudaMallocArray(&array, &channels, W, H, cudaArraySurfaceLoadStore));
    CHECK_CUDA(cudaMemcpyToArray(array, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t s;
    CHECK_CUDA(cudaCreateSurfaceObject(&s, &resource));
    add_one<<<1, dim3(W, H)>>>(s, W, H);
    CHECK_CUDA(cudaMemcpyFromArray(out, array, 0, 0, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; i++) CHECK((&out[0][0])[i].x == i + 1 && (&out[0][0])[i].w == 3);
    CHECK_CUDA(cudaDestroySurfaceObject(s));
    CHECK(cudaDestroySurfaceObject(s) == cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

int main() {
    check_1d();
    check_2d();
    check_fetch();
    check_layers();
    check_surface();
    return failures != 0;
}
