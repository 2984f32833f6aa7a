//go:build man

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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

func manPage(c *cobra.Command, date string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %q %q %q %q %q\n", strings.ToUpper(pageName(c)), section(c), date, "batch "+run.Version(), "batch manual")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	if section(c) == "1" {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	text := withText(c).Long
	if text == "" {
		text = c.Short + "."
	}
	prose(&b, text)
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
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	}
	return b.Bytes()
}

func reference(c *cobra.Command) string {
	return fmt.Sprintf(`\fB%s\fR(%s)`, roff(pageName(c)), section(c))
}

// prose writes paragraphs. Lines that begin with a blank are set as they are; an underlined
// one is a heading.
func prose(b *bytes.Buffer, text string) {
	const none, plain, literal = 0, 1, 2
	last := none
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		kind := plain
		switch {
		case line == "" || isUnderline(line):
			kind = none
		case i+1 < len(lines) && isUnderline(lines[i+1]):
			b.WriteString(".SS " + roff(line) + "\n")
			kind = none
		case line[0] == ' ':
			kind = literal
		}
		if kind != last && last == literal {
			b.WriteString(".fi\n")
		}
		if kind != last && kind != none {
			b.WriteString(".PP\n")
		}
		if kind != last && kind == literal {
			b.WriteString(".nf\n")
		}
		if kind != none {
			b.WriteString(roff(line) + "\n")
		}
		last = kind
	}
	if last == literal {
		b.WriteString(".fi\n")
	}
}

func isUnderline(line string) bool { return line != "" && strings.Trim(line, "-") == "" }

func options(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
		}
		value, usage := pflag.UnquoteUsage(f)
		switch {
		case value != "" && f.NoOptDefVal != "": // it may be left out, and otherwise needs the sign
			name += `[=\fI` + roff(value) + `\fR]`
		case value != "":
			name += ` \fI` + roff(value) + `\fR`
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "[]" {
			usage += " (default " + d + ")"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, roff(strings.ReplaceAll(usage, "\n", " ")))
	})
}

// roff escapes text that troff would read as its own.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`, "'", `\(aq`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return foreign().ReplaceAllStringFunc(s, func(c string) string { return fmt.Sprintf(`\[u%04X]`, []rune(c)[0]) })
}

// foreign matches characters that troff reads only by their names.
var foreign = lazy.Regexp(`[^\x00-\x7f]`)
