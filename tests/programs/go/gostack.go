// Calls functions of Go while its stacks grow and are moved.
//
//	gostack GOROUTINES DEPTH
//
// Each goroutine calls deep, which calls itself DEPTH times and then leaf, and big once. Prints the sum of the results.
package main

import (
	"fmt"
	"os"
	"strconv"
)

//go:noinline
func leaf(n int, s string) int {
	if n&1 == 0 {
		return n + len(s)
	}
	return n - 1
}

//go:noinline
func nine(a, b, c, d, e, f, g, h, i int) int {
	return a + b + c + d + e + f + g + h + i
}

//go:noinline
func deep(n int, pad [64]byte) int {
	if n == 0 {
		return leaf(1000, "a string")
	}
	pad[n&63] = byte(n)
	return deep(n-1, pad)
}

// Its frame is larger than a new stack.
//
//go:noinline
func big(n int) int {
	var a [100000]byte
	a[n%100000] = 1
	return n + int(a[(n+1)%100000])
}

func main() {
	goroutines, _ := strconv.Atoi(os.Args[1])
	depth, _ := strconv.Atoi(os.Args[2])
	results := make(chan int)
	sum := nine(1, 2, 3, 4, 5, 6, 7, 8, 9)
	for g := 0; g < goroutines; g++ {
		go func(g int) {
			var pad [64]byte
			results <- deep(depth, pad) + big(g)
		}(g)
		if g%100 == 99 { // not all stacks at once
			for i := 0; i < 100; i++ {
				sum += <-results
			}
		}
	}
	for i := 0; i < goroutines%100; i++ {
		sum += <-results
	}
	fmt.Println(sum)
}
