package page

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"

	"batch.example/batch/internal/printable"
)

// reposView is the table of rates by repository.
type reposView struct {
	Entries []side
	Axis    template.HTML
	Rows    []repoRow
	Note    string
}

type repoRow struct {
	Name      string
	Instances int
	Rates     []string // by entry
	Chart     template.HTML
}

const mostRepos = 40 // with their own rows

// reposView returns nil if there is only one repository, or if each has only one instance: then the
// table of instances says the same.
func (s study) reposView() *reposView {
	byRepo := map[string][]string{}
	for _, id := range s.ids {
		byRepo[s.repos[id]] = append(byRepo[s.repos[id]], id)
	}
	if len(byRepo) < 2 || len(byRepo) == len(s.ids) {
		return nil
	}
	a := newAxis(0, 1, 4)
	v := &reposView{Entries: s.entries, Axis: a.row(percentTick)}
	names := slices.SortedFunc(maps.Keys(byRepo), func(x, y string) int {
		return cmp.Or(len(byRepo[y])-len(byRepo[x]), cmp.Compare(x, y))
	})
	for _, name := range names[:min(mostRepos, len(names))] {
		v.Rows = append(v.Rows, s.repoRow(name, byRepo[name], a))
	}
	v.Note = "The interval within a repository takes its instances as independent. With few of them it is wide: compare within a row with care."
	if rest := len(names) - mostRepos; rest > 0 {
		v.Note += fmt.Sprintf(" %s with fewer instances not shown.", printable.Count(rest, "repository", "repositories"))
	}
	return v
}

func (s study) repoRow(name string, ids []string, a axis) repoRow {
	const line = 13.0
	row := repoRow{Name: cut(name, 80), Instances: len(ids)}
	rates := make([]rate, len(s.entries))
	text := ""
	for i, e := range s.entries {
		rates[i] = s.rateOf(e, ids)
		if rates[i].instances == 0 {
			row.Rates = append(row.Rates, "–")
			continue
		}
		row.Rates = append(row.Rates, fmt.Sprintf("%.0f %%", 100*rates[i].value))
		text += fmt.Sprintf("%s %s, %s. ", e.Letter, percent(rates[i].value), span(rates[i].Interval))
	}
	height := line*float64(len(s.entries)) + 10
	d := newDrawing("row", int(height), row.Name, text)
	d.grid(a, height)
	for i, e := range s.entries {
		if rates[i].instances > 0 {
			e.draw(d, rates[i], a, 5+line*(float64(i)+0.5))
		}
	}
	row.Chart = d.done()
	return row
}
