// Package view writes a configuration for people and for programs.
//
// Its API is not promised to other programs: see package batch.
package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

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

// YAML writes values as a file that loads to the same configuration, with the
// source of each as a comment.
func YAML(w io.Writer, values []config.Value) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(tree(values)); err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	return e.Close()
}

// JSON writes the same file as [YAML] in JSON, without the sources.
func JSON(w io.Writer, values []config.Value) error {
	var line, b bytes.Buffer
	if err := writeJSON(&line, tree(values)); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	if err := json.Indent(&b, line.Bytes(), "", "  "); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err := io.WriteString(w, escaped(b.String())+"\n")
	return err
}

// writeJSON writes a node with its keys in their order and its numbers as they are.
func writeJSON(b *bytes.Buffer, n *yaml.Node) error {
	switch {
	case n.Kind == yaml.MappingNode:
		return writeItems(b, n.Content, "{:}")
	case n.Kind == yaml.SequenceNode:
		return writeItems(b, n.Content, "[,]")
	case n.Tag == "!!float" || n.Tag == "!!int" || n.Tag == "!!bool":
		b.WriteString(n.Value)
		return nil
	case n.Tag == "!!null":
		b.WriteString("null")
		return nil
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(n.Value)
}

// writeItems writes nodes between brackets. Marks are the opening bracket, the separator (: for
// a mapping, after each key) and the closing bracket.
func writeItems(b *bytes.Buffer, items []*yaml.Node, marks string) error {
	b.WriteByte(marks[0])
	for i, item := range items {
		switch {
		case i%2 == 1 && marks[1] == ':':
			b.WriteByte(':')
		case i > 0:
			b.WriteByte(',')
		}
		if err := writeJSON(b, item); err != nil {
			return err
		}
	}
	b.WriteByte(marks[2])
	return nil
}

// escaped keeps the characters out that JSON may hold and YAML may not.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= 0x7f && r < 0xa0 || r == 0xfeff || r >= 0xfff0 && r <= 0xffff {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// tree puts the values that are set under their sections and keys.
func tree(values []config.Value) *yaml.Node {
	root := mapping()
	for _, v := range values {
		if v.Source == config.NotSet {
			continue
		}
		parts := strings.SplitN(v.Path, ".", 3)
		at := root
		for _, key := range parts[:len(parts)-1] {
			at = child(at, key)
		}
		name := text(parts[len(parts)-1])
		node := encoded(v.Value)
		if node.Style&yaml.LiteralStyle != 0 {
			name.HeadComment = v.Source
		} else if node.Kind == yaml.ScalarNode {
			node.LineComment = v.Source
		} else {
			name.HeadComment = v.Source
		}
		at.Content = append(at.Content, name, node)
	}
	return root
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// child returns the mapping at key; it adds a missing one.
func child(at *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(at.Content); i += 2 {
		if at.Content[i].Value == key {
			return at.Content[i+1]
		}
	}
	m := mapping()
	at.Content = append(at.Content, text(key), m)
	return m
}

func encoded(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return text(v)
	case float64:
		number := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(number, ".e") { // which would be an integer
			number += ".0"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: number}
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, item := range v {
			list.Content = append(list.Content, encoded(item))
		}
		return list
	default:
		var node yaml.Node
		_ = node.Encode(v) // numbers, true and false, null, and mappings of these
		return &node
	}
}

// text is a block if YAML reads the same text from it; otherwise it is quoted.
func text(s string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if strings.Contains(s, "\n") {
		node.Style = yaml.LiteralStyle
	}
	data, err := yaml.Marshal(map[string]map[string]*yaml.Node{"a": {"b": node}})
	var back map[string]map[string]string
	if err != nil || yaml.Unmarshal(data, &back) != nil || back["a"]["b"] != s {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}
