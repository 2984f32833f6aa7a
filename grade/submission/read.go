package submission

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/scores"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// Read reads the run directory dir without changing it. If the directory is in use, the error wraps
// a [*results.LockedError]. The run's instances are the requested ones, in the dataset's order.
func Read(dir string) (*Run, error) {
	snap, err := results.Read(dir)
	if err != nil {
		return nil, err
	}
	there, err := results.Look(dir)
	if err != nil {
		return nil, err
	}
	predicted, err := there.Predictions(nil)
	if err != nil {
		return nil, err
	}
	list, err := grades.Read(dir)
	if err != nil {
		return nil, err
	}
	quarantined, err := grades.Quarantined(dir)
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
	ids = slices.Clip(ids)
	for _, p := range predicted {
		ids = append(ids, p.InstanceID)
	}
	ids = ordered(ids, nil)
	r.Instances = make([]Instance, len(ids))
	at := map[string]*Instance{}
	for i, id := range ids {
		r.Instances[i] = Instance{ID: id, Repo: scores.RepoOf(id), Quarantined: slices.Contains(quarantined, id)}
		at[id] = &r.Instances[i]
	}
	for _, rec := range snap.Records {
		if in := at[rec.InstanceID]; in != nil {
			in.Repo = cmp.Or(rec.Repo, in.Repo)
			if rec.Outcome.Final() {
				in.Results++
			}
		}
	}
	latest, times := grades.Latest(list), there.Repeated()
	for _, p := range predicted {
		in := at[p.InstanceID]
		in.Predictions = max(1, times[in.ID])
		in.Attempt, in.Model, in.Patch, in.Exact = p.Attempt, p.Model, p.Text, p.Patch
		in.Said = p.Said
		in.Trace = exists(results.TrajectoryPath(r.Dir, in.ID)) || exists(results.JournalPath(r.Dir, in.ID))
		if err := in.grade(r.Dir, latest); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// grade adds the prediction's grade from the run directory dir.
func (in *Instance) grade(dir string, latest map[grades.Prediction]grades.Grade) (err error) {
	g, ok := latest[grades.Prediction{InstanceID: in.ID, Attempt: in.Attempt, Patch: grades.PatchDigest(in.Patch)}]
	in.Verdict, in.Suspicious = g.Verdict, g.Suspicious
	if !ok && in.Patch == "" {
		in.Verdict = vocab.VerdictEmpty // an empty patch needs no tests
	}
	if g.Log != "" {
		in.Log, err = swebench.ReadLog(filepath.Join(dir, filepath.FromSlash(g.Log)), in.ID)
	}
	return err
}

// ordered merges both lists in order, without duplicates.
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
