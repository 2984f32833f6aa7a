package main

import "time"

// holders are the packages whose tests a mutant must also pass to survive: they promise
// what the mutated package implements.
var holders = map[string][]string{
	"./results":      {"./report", "./solver"},
	"./agent":        {"./solver"},
	"./agent/config": {"./agent"},
	"./session":      {"./solver"},
	"./solver":       {},
	"./runner":       {},
	"./docker":       {},

	"./docker/images":          {"./docker"},
	"./docker/containers":      {"./docker"},
	"./docker/internal/daemon": {"./docker"},
}

// A run of the tests has at least this long, and at least so many times what
// the unchanged package took: a loaded machine kills no mutant.
const (
	leastTimeout = 30 * time.Second
	timesSlower  = 5
)
