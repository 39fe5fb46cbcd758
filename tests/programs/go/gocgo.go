// A program of Go that has functions of C in it, which get their arguments as C does.
package main

/*
__attribute__((noinline)) long c_mix(long a, long b, long c) { __asm__ volatile(""); return 100 * a + 10 * b + c; }
*/
import "C"
import "fmt"

//go:noinline
func mix(a, b, c int) int { return 100*a + 10*b + c }

func main() {
	fmt.Println(int(C.c_mix(1, 2, 3)) + mix(4, 5, 6))
}
