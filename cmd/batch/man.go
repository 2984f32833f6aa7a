//go:build man

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/run"
)

// generators are the commands that only a build with the tag man has.
func (a *app) generators() []*cobra.Command {
	return []*cobra.Command{{
		Use:   "man DIR",
		Short: "Write a man page for each command and help topic",
		Args:  namedArgs("DIR"),
		RunE:  func(c *cobra.Command, args []string) error { return a.writePages(c.Root(), args[0]) },
	}}
}

// writePages writes DIR/man1/batch-COMMAND.1, and DIR/man7/batch-TOPIC.7.
func (a *app) writePages(root *cobra.Command, dir string) error {
	date := time.Now()
	if seconds, err := strconv.ParseInt(a.getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		date = time.Unix(seconds, 0)
	}
	for _, c := range pages(root) {
		c.InitDefaultHelpFlag()
		name := filepath.Join(dir, "man"+section(c), pageName(c)+"."+section(c))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fault.New(fault.Usage, "writing the man pages", err)
		}
		if err := os.WriteFile(name, manPage(c, date.UTC().Format("2006-01-02")), 0o644); err != nil {
			return fault.New(fault.Usage, "writing the man pages", err)
		}
	}
	return nil
}

// pages are the commands that have a page, c first.
func pages(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "man" {
			list = append(list, pages(sub)...)
		}
	}
	return list
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// section is 1 for commands, 7 for help topics.
func section(c *cobra.Command) string {
	if c.IsAdditionalHelpTopicCommand() {
		return "7"
	}
	return "1"
}

// manPage returns the page of c. It does not use cobra's generator, which shows a flag's
// default instead of the name of its value, has no help topics among its references, and
// takes the texts to be Markdown.
func manPage(c *cobra.Command, date string) []byte {
	var b bytes.Buffer
	name := pageName(c)
	fmt.Fprintf(&b, "%% %q %q %q %q %q\n", strings.ToUpper(name), section(c), date, "batch "+run.Version(), "batch manual")
	fmt.Fprintf(&b, "# NAME\n%s - %s\n", escaped(name), escaped(c.Short))
	if section(c) == "1" {
		fmt.Fprintf(&b, "# SYNOPSIS\n**%s**\n", escaped(c.UseLine()))
	}
	fmt.Fprintf(&b, "# DESCRIPTION\n%s\n", markdown(cmp.Or(withText(c).Long, c.Short+".")))
	options(&b, "OPTIONS", c.NonInheritedFlags())
	options(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	var also []string
	if c.HasParent() {
		also = append(also, reference(c.Parent()))
	}
	for _, sub := range pages(c)[1:] {
		if sub.Parent() == c {
			also = append(also, reference(sub))
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, "# SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	}
	return foreign().ReplaceAllFunc(md2man.Render(b.Bytes()), func(c []byte) []byte {
		r, _ := utf8.DecodeRune(c)
		return fmt.Appendf(nil, `\[u%04X]`, r)
	})
}

func reference(c *cobra.Command) string {
	return fmt.Sprintf("**%s**(%s)", escaped(pageName(c)), section(c))
}

var special = lazy.Regexp("[\\\\`*_{}\\[\\]()#+.!:|&<>~-]")

// escaped returns s as Markdown that shows s.
func escaped(s string) string { return special().ReplaceAllString(s, `\$0`) }

// markdown converts a help text. Indented lines are shown as they are; an underlined line
// is a heading.
func markdown(text string) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		switch {
		case isUnderline(line):
		case i+1 < len(lines) && isUnderline(lines[i+1]):
			b.WriteString("### " + escaped(line) + "\n")
		case isIndented(line):
			if i > 0 && !isIndented(lines[i-1]) {
				b.WriteString("\n") // Markdown needs it
			}
			b.WriteString("    " + line + "\n")
		default:
			b.WriteString(escaped(line) + "\n")
		}
	}
	return b.String()
}

func isIndented(line string) bool {
	return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
}

func isUnderline(line string) bool { return line != "" && strings.Trim(line, "-") == "" }

func options(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, "# %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "**" + escaped("--"+f.Name) + "**"
		if f.Shorthand != "" {
			name = "**" + escaped("-"+f.Shorthand) + "**, " + name
		}
		value, usage := pflag.UnquoteUsage(f)
		switch {
		case value != "" && f.NoOptDefVal != "": // it is optional, and needs the sign
			name += `\[=*` + escaped(value) + `*\]`
		case value != "":
			name += " *" + escaped(value) + "*"
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "[]" {
			usage += " (default " + d + ")"
		}
		fmt.Fprintf(b, "%s\n: %s\n\n", name, escaped(strings.ReplaceAll(usage, "\n", " ")))
	})
}

// foreign matches characters that troff reads only by their names.
var foreign = lazy.Regexp(`[^\x00-\x7f]`)
