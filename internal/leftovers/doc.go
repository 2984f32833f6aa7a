// Package leftovers tests scripts/leftovers, which checks that the tests, the demo
// and the benchmarks leave the machine as they found it.
package leftovers
