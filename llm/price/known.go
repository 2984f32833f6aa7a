package price

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"batch.example/batch/vocab"
)

// known is the table that comes with batch. Its head explains its form, and where the
// prices are from.
//
//go:embed known.txt
var known string

// Known returns the models of the built-in table with the prices that are valid now, by names with the
// provider before a slash. Prices change, so the user's own registry should be added, see [Table.With]. The
// caller may change the table.
func Known() Table { return KnownAt(time.Now()) }

// KnownAt is [Known] at another time. Only its day in UTC matters.
func KnownAt(now time.Time) Table {
	t, err := parse(known)
	if err != nil {
		panic(err) // it is embedded
	}
	today := now.UTC().Format(time.DateOnly)
	for name, m := range t {
		if m.Until != "" && m.Until < today {
			m.Price = nil
			t[name] = m
		}
	}
	return t
}

// parse reads a table in the form of known.txt.
func parse(text string) (Table, error) {
	t := Table{}
	var block Model
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(line, "#"):
			continue
		case fields[0] == "@":
			if len(fields) != 4 {
				return nil, fmt.Errorf("line %d: want @ PROVIDER DATE SOURCE", number)
			}
			block = Model{Provider: fields[1], Date: fields[2], Source: fields[3]}
			if _, err := time.Parse(time.DateOnly, block.Date); err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			continue
		case block.Provider == "":
			return nil, fmt.Errorf("line %d: no provider yet", number)
		}
		name := block.Provider + "/" + fields[0]
		if _, twice := t[name]; twice {
			return nil, fmt.Errorf("line %d: %s is here twice", number, name)
		}
		m, err := block.parseLine(fields[1:])
		if err != nil {
			return nil, fmt.Errorf("line %d, %s: %w", number, name, err)
		}
		t[name] = m
	}
	return t, nil
}

// parseLine returns m, which has the data of the block, completed by the fields after a model's name.
func (m Model) parseLine(fields []string) (Model, error) {
	if len(fields) < 3 {
		return m, fmt.Errorf("want WINDOW OUTPUT RATES")
	}
	var err error
	if m.Window, err = parseTokens(fields[0]); err != nil {
		return m, err
	}
	if m.Output, err = parseTokens(fields[1]); err != nil {
		return m, err
	}
	if fields[2] == "-" {
		if len(fields) > 3 {
			return m, fmt.Errorf("%s without a price", fields[3])
		}
		return m, nil
	}
	m.Price = &vocab.Price{}
	if m.Price.Rates, err = parseRates(fields[2]); err != nil {
		return m, err
	}
	for _, field := range fields[3:] {
		if day, ok := strings.CutPrefix(field, "until="); ok {
			if _, err := time.Parse(time.DateOnly, day); err != nil {
				return m, err
			}
			m.Until = day
			continue
		}
		if err := parseMore(m.Price, field); err != nil {
			return m, fmt.Errorf("%s: %w", field, err)
		}
	}
	return m, nil
}

// parseMore adds >TOKENS:RATES, SERVICE:RATES or SERVICE>TOKENS:RATES.
func parseMore(p *vocab.Price, field string) error {
	what, text, _ := strings.Cut(field, ":")
	rates, err := parseRates(text)
	if err != nil {
		return err
	}
	service, length, long := strings.Cut(what, ">")
	of := *p
	if service != "" {
		of = p.Services[service]
	}
	if long {
		above, err := parseTokens(length)
		if err != nil {
			return err
		}
		if of.Rates == (vocab.Rates{}) {
			return fmt.Errorf("the rates of shorter calls are missing")
		}
		if n := len(of.Tiers); above == 0 || n > 0 && of.Tiers[n-1].Above >= above {
			return fmt.Errorf("the lengths are not in order")
		}
		of.Tiers = append(slices.Clip(of.Tiers), vocab.Tier{Above: above, Rates: rates})
	} else if _, twice := p.Services[service]; twice || service == "" {
		return fmt.Errorf("want one service")
	} else {
		of.Rates = rates
	}
	if service == "" {
		*p = of
		return nil
	}
	if p.Services == nil {
		p.Services = map[string]vocab.Price{}
	}
	p.Services[service] = of
	return nil
}

// parseTokens reads a number of tokens; "-" is 0.
func parseTokens(text string) (int64, error) {
	if text == "-" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 40)
	return int64(n), err
}

// parseRates reads prices per million tokens. Cached input costs as much as other input unless it has a price
// of its own.
func parseRates(text string) (r vocab.Rates, err error) {
	const million = 1e6
	parts := strings.Split(text, ",")
	into := []*float64{&r.Input, &r.CachedInput, &r.CacheWrite, &r.CacheHour, &r.Output}
	if len(parts) != len(into) {
		return r, fmt.Errorf("%d rates, want %d", len(parts), len(into))
	}
	for i, part := range parts {
		rate := 0.0
		if part != "-" {
			if rate, err = strconv.ParseFloat(part, 64); err != nil {
				return r, err
			}
		}
		if rate < 0 || math.IsNaN(rate) || math.IsInf(rate, 0) {
			return r, fmt.Errorf("a rate is %v", rate)
		}
		*into[i] = rate / million
	}
	if parts[0] == "-" || parts[4] == "-" {
		return r, fmt.Errorf("input and output need a rate")
	}
	if parts[1] == "-" {
		r.CachedInput = r.Input
	}
	return r, nil
}
