// Package leftovers tests scripts/leftovers, which holds the tests, the demo
// and the benchmarks to leaving the machine as they found it.
package leftovers
