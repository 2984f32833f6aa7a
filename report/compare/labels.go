package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/results/scores"
)

// Labeled counts the instances of a side with a label, common to all sides or not. With several
// attempts, only the attempts with the label count, and an instance counts by their mean.
type Labeled struct {
	Label      string  `json:"label"`
	Instances  int     `json:"instances"`
	Resolved   float64 `json:"resolved"`
	Unresolved float64 `json:"unresolved"`
	LeftOut    int     `json:"left_out"` // they have no score
}

// labeled counts by label, sorted.
func (s side) labeled() []Labeled {
	ids := map[string]map[string]bool{}
	for _, run := range s.scores.Runs {
		for id, labels := range run.Labels {
			for _, label := range labels {
				if ids[label] == nil {
					ids[label] = map[string]bool{}
				}
				ids[label][id] = true
			}
		}
	}
	list := []Labeled{}
	for _, label := range slices.Sorted(maps.Keys(ids)) {
		l := Labeled{Label: label}
		for id := range ids[label] {
			l.add(s.withLabel(id, label))
		}
		list = append(list, l)
	}
	return list
}

// withLabel is the result on an instance of the attempts with a label.
func (s side) withLabel(id, label string) result {
	if whole := s.at(id); whole.left == scores.Quarantined {
		return whole
	}
	only := scores.Side{}
	for _, run := range s.scores.Runs {
		if slices.Contains(run.Labels[id], label) {
			only.Runs = append(only.Runs, run)
		}
	}
	return newResult(only, id)
}

func (l *Labeled) add(r result) {
	l.Instances++
	if !r.scored() {
		l.LeftOut++
		return
	}
	l.Resolved += r.rate()
	l.Unresolved += 1 - r.rate()
}

// labelRows returns a table of the labels of all sides: a head, and a row for each label and side;
// nothing if there are none.
func labelRows(sides []Side, name func(Side) string) [][]string {
	all := map[string]bool{}
	for _, s := range sides {
		for _, l := range s.Labels {
			all[l.Label] = true
		}
	}
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{"label", "", "instances", "resolved", "not resolved", "left out"}}
	for _, label := range slices.Sorted(maps.Keys(all)) {
		for _, s := range sides {
			l := s.labeled(label)
			rows = append(rows, []string{report.OneLine(label, longestName), name(s), strconv.Itoa(l.Instances), count(l.Resolved), count(l.Unresolved), strconv.Itoa(l.LeftOut)})
		}
	}
	return rows
}

// labeled returns the counts of a label; zeros if no instance has it.
func (e Side) labeled(label string) Labeled {
	for _, l := range e.Labels {
		if l.Label == label {
			return l
		}
	}
	return Labeled{Label: label}
}

// noLabels is the text in place of an empty table.
const noLabels = "no instance has a label: `batch note` adds them"

// labels writes the table of labels, if it was asked for.
func (t text) labels(sides []Side, name func(Side) string) {
	if len(sides) == 0 || sides[0].Labels == nil {
		return
	}
	rows := labelRows(sides, name)
	if rows == nil {
		t.words("", "%s", noLabels)
		return
	}
	fmt.Fprintln(t)
	table := printable.Numbers(1)
	for _, row := range rows {
		table.Add(row...)
	}
	table.Write(t)
	fmt.Fprintln(t)
}

// labels writes the table of labels, if it was asked for.
func (m markdown) labels(sides []Side, name func(Side) string) {
	if len(sides) == 0 || sides[0].Labels == nil {
		return
	}
	rows := labelRows(sides, name)
	if rows == nil {
		m.paragraph(sentence(noLabels))
		return
	}
	fmt.Fprintln(m)
	m.head(2, rows[0]...)
	for _, row := range rows[1:] {
		m.row(append([]string{code(row[0])}, row[1:]...)...)
	}
}
