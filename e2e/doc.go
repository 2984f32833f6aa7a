// Package e2e has what tests of the whole program share. The tests themselves are in the folders
// below, by theme: runs, grading, talk (chat, attach, serve, MCP) and faults (kills, outages, full
// disks). They run the program batch as its users do, in a process of its own, on a real Docker
// engine with the demo's images, against stand-ins of model providers over HTTP.
//
// The program is built once, with the race detector where the tests have it; BATCH_PROGRAM names one
// that is built already. Tests that need an engine are skipped without one, unless
// BATCH_DOCKER=require turns the skip into a failure.
//
// Many tests use one engine at the same time, and so do other processes. Instances of a test
// therefore have ids that no other test has ([OwnRows]), and containers of a process that a test
// has killed are kept from other runs, which would remove them, by [Keep].
//
// Its API is not promised to other programs: see package batch.
package e2e
