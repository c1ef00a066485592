struct cudaGraphicsResource* buffer;  // refused: memory of graphics
int main() {
    return 0;
}
