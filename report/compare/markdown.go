package compare

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
)

// WriteMarkdown writes the comparison for a pull request, in GitHub's Markdown. Text from outside
// is shown literally: it cannot become markup, a link, a mention or a command. With list, the
// instances on which two entries differ are in a section that can be opened.
func (c Comparison) WriteMarkdown(w io.Writer, list bool) error {
	b := bufio.NewWriter(w)
	m := markdown{b, c}
	if len(c.Pairs) == 1 {
		m.pair(c.Pairs[0])
	} else {
		m.ranking()
		m.pairs()
	}
	m.details(list)
	return b.Flush()
}

type markdown struct {
	*bufio.Writer
	c Comparison
}

// marks escapes characters that may be markup in Markdown, in text and inside of HTML. GitHub looks
// for mentions and references in the displayed text: an empty comment hides one from it.
var marks = strings.NewReplacer(
	"|", "&#124;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;", "\\", "&#92;",
	"~", "&#126;", "@", "&#64;<!-- -->", "#", "&#35;<!-- -->", ":", "&#58;", "!", "&#33;", "$", "&#36;", "www.", "www&#46;",
)

// code shows text from outside in the font of code, where GitHub makes no mentions or links.
func code(text string) string { return "<code>" + escaped(text) + "</code>" }

func escaped(text string) string { return marks.Replace(html.EscapeString(report.OneLine(text, 0))) }

func (m markdown) row(cells ...string) {
	fmt.Fprintln(m, "| "+strings.Join(cells, " | ")+" |")
}

// head writes the head of a table. The first left columns have text.
func (m markdown) head(left int, cells ...string) {
	m.row(cells...)
	rule := make([]string, len(cells))
	for i := range rule {
		rule[i] = "---:"
		if i < left {
			rule[i] = "---"
		}
	}
	m.row(rule...)
}

func (m markdown) paragraph(text string) { fmt.Fprintf(m, "\n%s\n", text) }

func (m markdown) pair(p Pair) {
	fmt.Fprintf(m, "### %s against %s\n\n", code(p.B), code(p.A))
	m.legend()
	m.head(1, "", "A", "B", "B - A", m.c.level()+" interval")
	for _, row := range p.rows() {
		m.row(row...)
	}
	m.paragraph("**" + sentence(m.c.conclusion(p, "A", "B")) + "**")
	m.paragraph(sentence(p.counts("A", "B")) + " " + sentence(html.EscapeString(p.tested())))
	if power := p.powerWords(); power != "" {
		m.paragraph(sentence(power))
	}
}

// sentence adds a capital letter and a full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

func (m markdown) legend() {
	for _, e := range m.c.Entries {
		fmt.Fprintf(m, "- %s: %s\n", m.c.letter(e.Name), escaped(e.about()))
	}
	fmt.Fprintln(m)
}

func (m markdown) ranking() {
	fmt.Fprintf(m, "### Comparison of %d entries\n\n", len(m.c.Entries))
	m.legend()
	if m.c.Common == 0 {
		return
	}
	m.head(2, "", "entry", "resolved", m.c.level()+" interval", "cost", "steps", "time", "")
	for _, e := range m.c.ranked() {
		m.row(m.c.letter(e.Name), code(e.Name), rate(e.Rate), rate(e.Interval.Low)+" to "+rate(e.Interval.High),
			m.c.mean(e.Cost, e.Known.Cost, report.Dollars), m.c.mean(e.Steps, e.Known.Steps, number), m.c.mean(e.Seconds, e.Known.Seconds, report.Seconds), m.c.standing(e))
	}
	m.paragraph("**" + sentence(m.c.tiedWords()) + "**")
	m.paragraph(sentence(printable.Count(m.c.Common, "instance", "instances") + " that all of them have a score for; cost, steps and time are means"))
}

func (m markdown) pairs() {
	fmt.Fprintln(m)
	m.head(1, m.c.pairHead()...)
	for _, p := range m.c.Pairs {
		row := m.c.pairRow(p)
		for i := range row {
			row[i] = html.EscapeString(row[i])
		}
		m.row(row...)
	}
}

// details writes the parts after the tables. The entries have the letters A and B here too.
func (m markdown) details(list bool) {
	var lines []string
	for _, p := range m.c.Pairs {
		if left := m.c.leftOut(p); left != "" {
			lines = append(lines, left)
		}
	}
	for _, e := range m.c.Entries {
		if len(e.Flaky) > 0 {
			lines = append(lines, escaped(m.c.flaky(e)))
		}
		for _, note := range e.Notes {
			lines = append(lines, "note: "+escaped(note))
		}
	}
	for _, note := range m.c.Notes {
		lines = append(lines, "note: "+escaped(note))
	}
	for _, r := range m.c.Gates {
		lines = append(lines, "**"+escaped(r.Text)+"**")
	}
	if len(lines) > 0 {
		fmt.Fprintln(m)
	}
	for _, line := range lines {
		fmt.Fprintln(m, "- "+line)
	}
	if list {
		for _, p := range m.c.Pairs {
			m.discordant(p)
		}
	}
}

func (m markdown) discordant(p Pair) {
	if len(p.Discordant) == 0 {
		return
	}
	a, b := m.c.letter(p.A), m.c.letter(p.B)
	fmt.Fprintf(m, "\n<details><summary>%s and %s differ on %s</summary>\n\n", a, b, printable.Count(len(p.Discordant), "instance", "instances"))
	m.head(1, listHead(a, b)...)
	for _, d := range p.Discordant {
		m.row(d.listRow(code(d.ID))...)
	}
	fmt.Fprint(m, "\n</details>\n")
}
