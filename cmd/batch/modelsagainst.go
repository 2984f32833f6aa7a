package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/llm/price"
)

// differentPrice is a line of `batch models --against --json`.
type differentPrice struct {
	Model   string  `json:"model"`
	Service string  `json:"service,omitempty"`
	Above   int64   `json:"above,omitempty"` // tokens of input
	Member  string  `json:"member"`
	Here    float64 `json:"usd_per_million_tokens"`
	There   float64 `json:"registry_usd_per_million_tokens"`
}

// pricesAgainst compares the named models' prices with a registry's.
func (a *app) pricesAgainst(f modelsFlags, table price.Table, names []string) error {
	file, err := os.Open(f.against)
	if err != nil {
		return fault.New(fault.Usage, "reading --against", err)
	}
	defer file.Close()
	registry, err := price.Load(file)
	if err != nil {
		return fault.New(fault.KindOf(err), f.against, err).WithHint("%s", fault.HintOf(err))
	}
	chosen := price.Table{}
	for _, name := range names {
		chosen[name] = table[name]
	}
	found := chosen.Against(registry)
	var list []differentPrice
	for _, d := range found.Differences {
		list = append(list, differentPrice{d.Model, d.Service, d.Above, d.Member, million(d.Here), million(d.There)})
	}
	if f.asJSON {
		err = a.printDifferent(list)
	} else {
		err = a.listDifferent(list, found, f.against)
	}
	switch {
	case err != nil:
		return err
	case len(found.Compared) == 0: // otherwise a wrong file would look like one with the same prices
		return fault.Newf(fault.Usage, "%s has a price of none of the models: nothing was compared", f.against)
	case len(list) > 0:
		return errPrices
	}
	return nil
}

func (a *app) printDifferent(list []differentPrice) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	for _, d := range list {
		if err := enc.Encode(d); err != nil {
			return fault.New(fault.Host, "writing prices", err)
		}
	}
	return nil
}

func (a *app) listDifferent(list []differentPrice, found price.Against, file string) error {
	models := map[string]bool{}
	if len(list) > 0 {
		var t printable.Table
		t.Row("MODEL", "PRICE", "HERE", "THERE")
		for _, d := range list {
			models[d.Model] = true
			what := strings.TrimLeft(d.Service+" ", " ") + d.Member
			if d.Above > 0 {
				what += " above " + tokenCount(d.Above)
			}
			t.Row(printable.Line(d.Model), what, number(d.Here), number(d.There))
		}
		if err := t.Write(a.stdout); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout)
	}
	fmt.Fprintf(a.stdout, "%s of %s, of %s compared with %s; US dollars per million tokens\n", printable.Count(len(list), "different price", "different prices"),
		printable.Count(len(models), "model", "models"), printable.Count(len(found.Compared), "model", "models"), file)
	for _, name := range found.Unpriced {
		fmt.Fprintf(a.stdout, "%s: a price there, and none here\n", printable.Line(name))
	}
	for _, name := range slices.Sorted(maps.Keys(found.Refused)) {
		fmt.Fprintf(a.stdout, "%s: not compared: %s\n", printable.Line(name), printable.Line(found.Refused[name]))
	}
	if n := len(found.Missing); n > 0 {
		fmt.Fprintf(a.stdout, "%s with a price here only\n", printable.Count(n, "model", "models"))
	}
	return nil
}
