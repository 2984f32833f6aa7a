package submission

import (
	"os"
	"path/filepath"

	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/scores"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// Read reads the run directory dir, which must not be in use (else the error wraps a
// [*results.LockedError]), and changes nothing. Instances are those that were asked for, in
// the dataset's order.
func Read(dir string) (*Run, error) {
	snap, err := results.Read(dir)
	if err != nil {
		return nil, err
	}
	store, err := results.Open(dir, results.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	predicted, err := store.Predictions(nil)
	if err != nil {
		return nil, err
	}
	list, err := grades.Read(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: filepath.Clean(dir)}
	ids := snap.Asked()
	if m := snap.Manifest; m != nil {
		r.Dataset, r.Split, r.Config = m.Dataset.Name, m.Dataset.Split, m.Config
		r.Batch, r.Prompts = m.Batch, m.Prompts
		ids = ordered(m.Dataset.Instances, ids)
	}
	reader := reader{dir: r.Dir, latest: grades.Latest(list), records: map[string][]results.Record{}, predicted: map[string]results.Prediction{}, entries: store.Repeated()}
	var own []string
	for _, p := range predicted {
		reader.predicted[p.InstanceID] = p
		own = append(own, p.InstanceID)
	}
	ids = ordered(ids, own)
	for _, rec := range snap.Records {
		reader.records[rec.InstanceID] = append(reader.records[rec.InstanceID], rec)
	}
	for _, id := range ids {
		in, err := reader.instance(id)
		if err != nil {
			return nil, err
		}
		r.Instances = append(r.Instances, in)
	}
	return r, nil
}

// ordered is first, and those of more that are not in it.
func ordered(first, more []string) []string {
	has := map[string]bool{}
	var all []string
	for _, list := range [][]string{first, more} {
		for _, id := range list {
			if !has[id] {
				has[id] = true
				all = append(all, id)
			}
		}
	}
	return all
}

type reader struct {
	dir       string
	latest    map[grades.Prediction]grades.Grade
	records   map[string][]results.Record
	predicted map[string]results.Prediction
	entries   map[string]int
}

func (r reader) instance(id string) (Instance, error) {
	in := Instance{ID: id, Repo: scores.RepoOf(id)}
	for _, rec := range r.records[id] {
		if rec.Repo != "" {
			in.Repo = rec.Repo
		}
		if rec.Outcome.Final() {
			in.Results++
		}
	}
	p, ok := r.predicted[id]
	if !ok {
		return in, nil
	}
	in.Predictions = max(1, r.entries[id])
	in.Attempt, in.Model, in.Patch, in.Exact = p.Attempt, p.Model, p.Text, p.Patch
	in.Trace = exists(results.TrajectoryPath(r.dir, id)) || exists(results.JournalPath(r.dir, id))
	g, ok := r.latest[grades.Prediction{InstanceID: id, Attempt: p.Attempt, Patch: grades.PatchDigest(p.Text)}]
	if !ok {
		if p.Text == "" {
			in.Verdict = vocab.VerdictEmpty // which needs no tests
		}
		return in, nil
	}
	in.Verdict, in.Suspicious = g.Verdict, g.Suspicious
	if g.Log == "" {
		return in, nil
	}
	var err error
	in.Log, err = swebench.ReadLog(filepath.Join(r.dir, filepath.FromSlash(g.Log)), id)
	return in, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
