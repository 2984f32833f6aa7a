package selecting

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/scores"
	"batch.example/batch/results/selections"
	"batch.example/batch/vocab"
)

// choice is one instance with its candidates.
type choice struct {
	id         string
	in         dataset.Instance
	key        string
	all        []selections.Candidate     // an entry for each attempt
	candidates []candidate                // attempts with a result
	patches    map[int]results.Prediction // by attempt
	cost       *float64                   // of all attempts; nil: unknown
	steps      int                        // of all attempts
	decided    *selections.Selection      // nil: not yet
}

// source has the results of an attempt.
type source struct {
	scores.Run
	predictions map[string]results.Prediction
	last        map[string]results.Record
}

// read reads the candidates of all instances.
func (s *Selecting) read(ctx context.Context) error {
	var sources []source
	ids := map[string]bool{}
	for _, a := range s.Attempts {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		from, err := sourceOf(a)
		if err != nil {
			return err
		}
		sources = append(sources, from)
		for id := range a.Scores {
			ids[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		c := &choice{id: id, patches: map[int]results.Prediction{}, cost: new(float64)}
		for i, from := range sources {
			c.add(i+1, from)
		}
		if s.Program != nil {
			row, known := s.rows[id]
			if !known {
				return fault.Newf(fault.Usage, "%s is not an instance of the dataset", id).WithHint("name the attempts' dataset with --subset")
			}
			c.in = row
		}
		c.key = s.keyOf(c)
		s.all = append(s.all, c)
	}
	if len(s.all) == 0 {
		return fault.Newf(fault.Usage, "the attempts have no instances to select from")
	}
	return nil
}

// sourceOf reads the current predictions of a run directory. A cell of a sweep that has not
// begun is empty.
func sourceOf(a scores.Run) (source, error) {
	from := source{Run: a, predictions: map[string]results.Prediction{}}
	switch {
	case a.Snapshot == nil && len(a.Scores) == 0:
		return from, nil
	case a.Snapshot == nil:
		return from, fault.Newf(fault.Usage, "%s has no patches to select from", a.Path).
			WithHint("name run directories, or the folder of a sweep")
	}
	from.last = results.Latest(a.Snapshot.Records)
	there, err := results.Look(a.Path)
	if err != nil {
		return from, err
	}
	list, err := there.Predictions(nil)
	for _, p := range list {
		from.predictions[p.InstanceID] = p
	}
	return from, err
}

// add adds an attempt's result for the instance.
func (c *choice) add(number int, from source) {
	entry := selections.Candidate{Attempt: number, Dir: from.Path}
	_, asked := from.Scores[c.id]
	r := results.LatestOf(from.last, c.id)
	switch {
	case r.Outcome.Final():
		prediction := from.predictions[c.id] // none is an empty one
		entry.Patch = grades.PatchDigest(prediction.Text)
		prediction.InstanceID = c.id
		c.patches[number] = prediction
		c.candidates = append(c.candidates, candidate{Attempt: number, Patch: prediction.Patch})
	case !asked:
		entry.LeftOut = string(scores.Missing)
	case r.Outcome == vocab.OutcomeInfrastructure:
		entry.LeftOut = string(scores.Infrastructure)
	default:
		entry.LeftOut = string(scores.NoResult)
	}
	c.steps += r.Steps
	switch {
	case r.Measured():
		entry.Cost = &r.Cost
		if c.cost != nil {
			*c.cost += r.Cost
		}
	case r.Status != vocab.StatusNotRun:
		c.cost = nil
	}
	c.all = append(c.all, entry)
}

// keyOf returns a digest of everything that a choice depends on.
func (s *Selecting) keyOf(c *choice) string {
	of := struct {
		By         string
		Candidates []selections.Candidate
		Program    string `json:"Judge"` // its name in directories of before
	}{s.by(), slices.Clone(c.all), ""}
	for i := range of.Candidates { // the place and the cost of an attempt do not matter
		of.Candidates[i].Dir, of.Candidates[i].Cost = "", nil
	}
	if s.Program != nil {
		of.Program = s.Program.digest
	}
	text, err := json.Marshal(of)
	if err != nil {
		panic(err) // it is plain data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
