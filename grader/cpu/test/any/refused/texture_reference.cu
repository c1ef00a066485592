texture<float, 1, cudaReadModeElementType> image;
int main() {
    cudaBindTexture(0, image, nullptr, 4);  // refused: references to textures
    return 0;
}
