#include <GL/gl.h>  // refused: OpenGL
void f() {}
int main() {
    return 0;
}
