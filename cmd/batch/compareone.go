package main

import (
	"fmt"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/report/compare"
	"batch.example/batch/results/scores"
)

// portion is a part of a whole as a flag: 80%.
type portion float64

func (s *portion) String() string { return strconv.FormatFloat(100*float64(*s), 'g', 6, 64) + "%" }

func (s *portion) Type() string { return "share" }

// Set implements pflag.Value.
func (s *portion) Set(text string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent || !(v > 0 && v <= 100) {
		return fmt.Errorf("expected a percentage above 0%%, such as 80%%")
	}
	*s = portion(v / 100)
	return nil
}

// compareOne applies gates to a single entry.
func (a *app) compareOne(f compareFlags, e scores.Side, o compare.Options) error {
	if gate, found := compare.OnDifference(o.Gates); found {
		return fault.Newf(fault.Usage, "--gate %q is on a difference, and there is nothing to compare %s with", gate, e.Name).
			WithHint("name another run directory, or write 'resolved >= 60%%' for the rate of one")
	}
	one := compare.NewOne(e, o)
	var err error
	switch {
	case f.asJSON:
		err = a.printJSON(one)
		for _, r := range one.Gates {
			fmt.Fprintln(a.stderr, r.Text)
		}
	case f.markdown:
		err = one.WriteMarkdown(a.stdout)
	default:
		err = one.Write(a.stdout)
	}
	if err == nil && !one.Passed() {
		err = errGate
	}
	return err
}
