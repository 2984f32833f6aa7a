package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/docker/go-units"

	"batch.example/batch/sandbox"
)

// width is the value of --workers: a number, or "auto" until it is resolved.
type width struct {
	n    int
	auto bool
	why  string // what auto was resolved by, for a person
}

// Set implements pflag.Value.
func (w *width) Set(s string) error {
	if s == "auto" {
		*w = width{auto: true}
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("expected a number or auto")
	}
	*w = width{n: n}
	return nil
}

// String implements pflag.Value.
func (w *width) String() string {
	if w.auto {
		return "auto"
	}
	return strconv.Itoa(w.n)
}

// Type implements pflag.Value.
func (w *width) Type() string { return "N|auto" }

// The rule of --workers auto.
const (
	perCore   = 4       // an agent waits for its model most of the time
	perAgent  = 2 << 30 // bytes that a test suite needs, unless its container may have less
	filesEach = 16      // descriptors of one instance: its shell, journal, logs and calls
)

// bound is one thing that limits how many instances can run at once.
type bound struct {
	n   int
	why string
}

// resolve chooses n for at most todo instances, each of which may use limit
// bytes, 0 being no limit: the least of what the cores, the memory and the
// descriptors allow. A number that was given stays.
func (w *width) resolve(m sandbox.Machine, limit int64, todo int) {
	if !w.auto {
		return
	}
	bounds := []bound{
		{perCore * m.Cores, fmt.Sprintf("%d for each of %d cores", perCore, m.Cores)},
		{todo, fmt.Sprintf("%d instances", todo)},
	}
	if m.Total > 0 {
		each := int64(perAgent)
		if limit > 0 {
			each = min(each, limit)
		}
		n := int(max(0, m.Available-m.Reserve()) / each)
		bounds = append(bounds, bound{n, fmt.Sprintf("memory for %d, of %s each and %s left over",
			n, units.BytesSize(float64(each)), units.BytesSize(float64(m.Reserve())))})
	}
	if m.Files > 0 {
		n := m.Files / filesEach
		bounds = append(bounds, bound{n, fmt.Sprintf("open files for %d", n)})
	}
	w.n = todo
	var all []string
	for _, b := range bounds {
		w.n = min(w.n, b.n)
		all = append(all, b.why)
	}
	w.n = max(1, w.n)
	w.why = fmt.Sprintf("--workers auto: %d (%s)", w.n, strings.Join(all, "; "))
}
