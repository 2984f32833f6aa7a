package view

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/view/search"
)

// searchPage is the data of a page with the hits of a search.
type searchPage struct {
	Query  search.Query   `json:"query"`
	Hits   []hitView      `json:"hits"`
	Result *search.Result `json:"result,omitempty"` // nil: nothing was searched
	Took   float64        `json:"seconds"`
	Error  string         `json:"error,omitempty"` // error in the query

	Words  string   `json:"-"` // the typed words
	Kind   []choice `json:"-"`
	Places []choice `json:"-"`
	Runs   []choice `json:"-"`
	Stream string   `json:"-"` // address of the hits as events; empty: no search
	Whole  string   `json:"-"` // address of a page with all hits
	Found  string   `json:"-"` // summary of the finished search
	Ready  []choice `json:"-"` // common questions, with their addresses
}

// hitView is a hit with its address.
type hitView struct {
	search.Hit
	Run  string `json:"run"`
	Link string `json:"link"`
}

// kinds are the kinds of searches.
var kinds = []choice{{"text", "text", false}, {"regexp", "regular expression", false}, {"ran", "ran the command", false}}

// ready are questions that people ask often.
var ready = []choice{
	{"/search?kind=ran&q=git+log", "who ran git log?", false},
	{"/search?edits=tests", "who edited a test file?", false},
	{"/search?kind=ran&q=curl", "who ran curl?", false},
	{"/search?kind=regexp&in=output&q=Traceback+%5C%28most+recent", "whose commands failed with a traceback?", false},
}

// asks reads the query in an address.
func asks(q url.Values) (search.Query, string) {
	words := q.Get("q")
	one := search.Query{Edits: q.Get("edits"), Fold: q.Has("fold")}
	switch q.Get("kind") {
	case "regexp":
		one.Regexp = words
	case "ran":
		one.Ran = words
	default:
		one.Text = words
	}
	for _, place := range q["in"] {
		one.In = append(one.In, search.Place(place))
	}
	if n, err := strconv.Atoi(q.Get("limit")); err == nil && n > 0 {
		one.Limit = min(n, mostHits)
	}
	return one, words
}

// mostHits is the maximum number of hits on a page.
const mostHits = 5000

// search answers with a form, and with the hits of the search. In a browser with JavaScript, the hits arrive
// as events while the search continues.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d := searchPage{Ready: ready, Hits: []hitView{}}
	d.Query, d.Words = asks(q)
	all, err := s.runStates()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	d.choose(q, all)
	if d.Words == "" && d.Query.Edits == "" {
		s.show(w, r, "search", "Search", d)
		return
	}
	// The page comes before the hits: the script requests them, or a link without it.
	if q.Get("format") != "json" && !q.Has("whole") {
		d.Stream = "/search/events?" + q.Encode()
		q.Set("whole", "1")
		d.Whole = "/search?" + q.Encode()
		s.show(w, r, "search", "Search", d)
		return
	}
	began := time.Now()
	result, err := s.find(r.Context(), d.Query, q["run"], all, func(h hitView) error {
		d.Hits = append(d.Hits, h)
		return nil
	})
	if err != nil && fault.KindOf(err) != fault.Usage {
		s.fail(w, r, err)
		return
	}
	if err != nil {
		d.Error = err.Error()
	}
	took := time.Since(began)
	d.Result, d.Took, d.Found = &result, took.Seconds(), found(len(d.Hits), result, took)
	s.show(w, r, "search", "Search", d)
}

// choose adds the options of the form.
func (d *searchPage) choose(q url.Values, all []*runState) {
	for _, k := range kinds {
		k.Chosen = k.Value == q.Get("kind")
		d.Kind = append(d.Kind, k)
	}
	for _, p := range search.Places() {
		d.Places = append(d.Places, choice{string(p), string(p), slices.Contains(q["in"], string(p))})
	}
	for _, st := range all {
		d.Runs = append(d.Runs, choice{st.Name, st.Name, slices.Contains(q["run"], st.Name)})
	}
}

// searchEvents sends the hits of a search while it continues.
func (s *Server) searchEvents(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	query, _ := asks(q)
	all, err := s.runStates()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	out := newStream(w)
	began, hits := time.Now(), 0
	result, err := s.find(r.Context(), query, q["run"], all, func(h hitView) error {
		hits++
		var b bytes.Buffer
		if err := templates().ExecuteTemplate(&b, "hit", h); err != nil {
			return err
		}
		return out.send("append", 0, b.String())
	})
	text := found(hits, result, time.Since(began))
	if err != nil {
		text = s.c.Mask.Text(err.Error())
	}
	_ = out.send("end", 0, text) // the reader has left
}

// find searches the attempts of runs; no runs are all runs.
func (s *Server) find(ctx context.Context, q search.Query, names []string, all []*runState, each func(hitView) error) (search.Result, error) {
	var sources []search.Source
	for _, st := range all {
		if len(names) > 0 && !slices.Contains(names, st.Name) {
			continue
		}
		for _, id := range st.ids {
			sources = append(sources, search.Source{Name: st.Name, Dir: st.Dir, Instance: id, Attempt: -1, Mask: st.mask})
		}
	}
	return search.Search(ctx, sources, q, func(h search.Hit) error {
		return each(hitView{h, h.Source, hitLink(h)})
	})
}

// hitLink returns the address of a hit.
func hitLink(h search.Hit) string {
	if h.Where == search.Patch && h.Step == 0 {
		return fmt.Sprintf("%s/patch?attempt=%d", attemptLink(h.Source, h.Instance), h.Attempt)
	}
	return stepLinkOf(h.Source, h.Instance, h.Attempt, h.Step)
}

// found returns a summary of the search.
func found(hits int, r search.Result, took time.Duration) string {
	text := fmt.Sprintf("%s in %s, %.1f s", printable.Count(hits, "hit", "hits"), printable.Count(r.Sources, "attempt", "attempts"), took.Seconds())
	if r.More {
		text += "; there are more"
	}
	if r.Failed > 0 {
		text += "; not read: " + printable.Count(r.Failed, "attempt", "attempts")
	}
	if r.Damaged > 0 {
		text += "; damaged: " + printable.Count(r.Damaged, "record", "records")
	}
	if r.Unmasked > 0 {
		text += "; not every secret is hidden in " + printable.Count(r.Unmasked, "attempt", "attempts") + " of an older batch"
	}
	return text
}

// Before returns the excerpt before the match.
func (h hitView) Before() string { return h.Excerpt[:h.From] }

// Match returns the text that was found.
func (h hitView) Match() string { return h.Excerpt[h.From:h.To] }

// After returns the excerpt after the match.
func (h hitView) After() string { return h.Excerpt[h.To:] }
