package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/journal"
	"batch.example/batch/results/grades"
)

// prediction is one entry of preds.json.
type prediction struct {
	id    string
	text  func() ([]byte, error) // the value, indented for its place in the file
	order int64

	digest  string
	patch   string        // its grades.PatchDigest
	foreign *foreignEntry // made by another tool
}

// predictionList is preds.json in memory, in the order of the file.
type predictionList struct {
	entries map[string]*prediction
	next    int64
	times   map[string]int // number of entries in the file, only for instances with several
}

func (p *predictionList) get(id string) *prediction { return p.entries[id] }

// set adds the entry at the end, or puts it in its predecessor's place.
func (p *predictionList) set(e *prediction) {
	if p.entries == nil {
		p.entries = map[string]*prediction{}
	}
	if old := p.entries[e.id]; old != nil {
		e.order = old.order
	} else {
		p.next++
		e.order = p.next
	}
	p.entries[e.id] = e
}

// clone returns a copy to which entries can be added.
func (p *predictionList) clone() predictionList {
	return predictionList{maps.Clone(p.entries), p.next, p.times}
}

func (p *predictionList) remove(id string) bool {
	_, ok := p.entries[id]
	delete(p.entries, id)
	return ok
}

// ordered returns the entries in file order. They do not change any more.
func (p *predictionList) ordered() []*prediction {
	return inOrder(slices.Collect(maps.Values(p.entries)))
}

// of returns the entries with one of the ids in file order. It takes no longer if there are
// more entries: with grading, it is called for each attempt.
func (p *predictionList) of(ids []string) []*prediction {
	var list []*prediction
	for _, id := range ids {
		if e := p.entries[id]; e != nil {
			list = append(list, e)
		}
	}
	return slices.Compact(inOrder(list)) // an id may be given twice
}

func inOrder(list []*prediction) []*prediction {
	slices.SortFunc(list, func(a, b *prediction) int { return int(a.order - b.order) })
	return list
}

func newPrediction(id string, d predictionData) (*prediction, error) {
	text, err := swebench.PredsEntry(id, d.Model, d.Patch, d.Said)
	ready := func() ([]byte, error) { return text, nil }
	return &prediction{id: id, text: ready, digest: d.digest(), patch: grades.PatchDigest(d.Patch)}, err
}

// writePredictions writes the whole file.
func writePredictions(w io.Writer, entries []*prediction) error {
	return swebench.WritePreds(w, func(yield func(string, func() ([]byte, error)) bool) {
		for _, e := range entries {
			if !yield(e.id, e.text) {
				return
			}
		}
	})
}

// loadPrediction takes over an entry of preds.json. It keeps the entry's text, including
// unknown members and odd escapes; only writing it again normalizes its form.
func loadPrediction(in swebench.Prediction) *prediction {
	d := predictionData{Model: in.Model, Patch: in.Patch}
	e := &prediction{
		id: in.InstanceID, text: sync.OnceValues(in.PredsEntry), digest: d.digest(), patch: grades.PatchDigest(d.Patch),
		foreign: &foreignEntry{model: d.Model, patchBytes: len(d.Patch)},
	}
	if in.Unfit != nil {
		e.foreign.unfit = fmt.Errorf("%s: %w", in.Where, in.Unfit)
	}
	return e
}

// matchPredictions compares preds.json with the journals. An entry that equals its
// journal's is batch's own; a missing or emptied one is restored; any other difference was
// written later by another program, and stays.
func (rd *Reader) matchPredictions(found []*recoveredInstance) (restored int, err error) {
	slices.SortFunc(found, func(a, b *recoveredInstance) int {
		if c := a.tail.Last.Time.Compare(b.tail.Last.Time); c != 0 {
			return c
		}
		return strings.Compare(a.id, b.id)
	})
	for _, r := range found {
		entry := rd.preds.get(r.id)
		switch {
		case r.digest == "":
		case entry == nil, entry.digest != r.digest && entry.foreign.patchBytes == 0:
			if entry, err = rd.journalledPrediction(r); err != nil {
				return restored, err
			}
			rd.preds.set(entry)
			restored++
		case entry.digest == r.digest:
			entry.foreign = nil
		}
	}
	return restored, nil
}

// missing counts predictions that preds.json had lost.
func missing(n int) string { return printable.Count(n, "missing prediction", "missing predictions") }

// journalledPrediction reads the record before the end record.
func (rd *Reader) journalledPrediction(r *recoveredInstance) (*prediction, error) {
	path := rd.path(r.id, journalFile)
	f, err := regular.Open(path)
	if err != nil {
		return nil, atomicfile.Fault("opening a journal", err)
	}
	defer f.Close()
	before, err := journal.TailAt(f, r.tail.Begin)
	if err != nil {
		return nil, fault.New(fault.KindOf(err), "reading "+path, err)
	}
	var d predictionData
	if before.Last.Type == journal.TypePrediction {
		err = json.Unmarshal(before.Last.Data, &d)
	}
	if err == nil && d.digest() != r.digest {
		err = errors.New("it differs from the digest in the end record")
	}
	if err != nil {
		return nil, fault.New(fault.Instance, "reading the prediction in "+path, err).
			WithHint("move the folder away to have the instance run again")
	}
	return newPrediction(r.id, d)
}
