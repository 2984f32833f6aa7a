// Package view writes a configuration for people and for programs.
package view

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"batch.example/batch/agent/config"
	"batch.example/batch/internal/printable"
)

// longest is the number of characters that a value may have in the table.
const longest = 80

// Text writes each value of a configuration with its source: short ones in a table, long
// texts below it.
func Text(w io.Writer, c *config.Config, values []config.Value) error {
	fmt.Fprintf(w, "prompts: %s\n\n", c.Prompts())
	var t printable.Table
	t.Row("KEY", "VALUE", "SOURCE")
	var blocks []config.Value
	for _, v := range values {
		text := short(v)
		if strings.Contains(text, "\n") || utf8.RuneCountInString(text) > longest {
			blocks = append(blocks, v)
			text = lines(text)
		}
		t.Row(v.Path, escapes.Replace(text), source(v))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	for _, v := range blocks {
		if _, err := fmt.Fprintf(w, "\n%s (%s):\n", v.Path, source(v)); err != nil {
			return err
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(v.Text(), "\n"), "\n") {
			if line != "" {
				line = "    " + line
			}
			fmt.Fprintln(w, line)
		}
	}
	return nil
}

// escapes shows the blanks of a value, which would be spaces in a table.
var escapes = strings.NewReplacer("\t", `\t`, "\r", `\r`, "\v", `\v`, "\f", `\f`)

// short is the text of a value in the table.
func short(v config.Value) string {
	switch text := v.Text(); {
	case v.Unset:
		return "(" + v.Empty + ")"
	case text == "":
		return `""`
	default:
		return text
	}
}

// source says where a value was set. A reader need not know whether a default is in the code
// or in the built-in file.
func source(v config.Value) string {
	if v.Source == config.NotSet {
		return "built-in default"
	}
	return v.Source
}

// lines stands for a text that is below the table.
func lines(text string) string {
	n := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	return "(" + printable.Count(n, "line", "lines") + ", below)"
}

// Keys writes each key with its type, default and description.
func Keys(w io.Writer, keys []config.Key) error {
	section := ""
	for _, k := range keys {
		name, _, _ := strings.Cut(k.Path, ".")
		if section != "" && name != section {
			fmt.Fprintln(w)
		}
		section = name
		kind := k.Type
		if len(k.Allowed) > 0 {
			kind = strings.Join(k.Allowed, " | ")
		}
		if _, err := fmt.Fprintf(w, "%s  (%s; default: %s)\n    %s\n", k.Path, kind, k.Default, k.Doc); err != nil {
			return err
		}
	}
	return nil
}
