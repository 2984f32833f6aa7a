package grading

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/family"
	"batch.example/batch/imagecache"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/sandbox"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// Planned is a prediction and the plan for it.
type Planned struct {
	Job
	Keep bool   // it has a verdict, and is not graded
	Why  string // for a person; may be empty
}

// Planner decides which predictions are graded.
type Planner struct {
	Settings
	Instances []dataset.Instance // only their predictions are graded
	Redo      bool               // also predictions that have a verdict
	ByImage   bool               // instances that share an image follow each other
	Sandboxes sandbox.Config
	Tell      func(text string)

	// Standing keeps verdicts that were given under other settings: only a change of the row or
	// the image judges again. A resumed run must not undo what `batch grade` was asked for.
	Standing bool
}

// Plan compares the current predictions of a directory with its grades. A prediction keeps a verdict
// that counts if the patch, eval script, rules, image and [grades.Basis] are the same, and it had as
// many executions as are asked for. A model with a name that cannot be a folder is a Usage fault.
func (p Planner) Plan(ctx context.Context, there *results.Reader, list []grades.Grade) ([]Planned, error) {
	ids := make([]string, len(p.Instances))
	for i, in := range p.Instances {
		ids[i] = in.ID
	}
	predictions, err := there.Predictions(ids)
	if err != nil {
		return nil, err
	}
	return p.plan(ctx, predictions, list)
}

func (p Planner) plan(ctx context.Context, predictions []results.Prediction, list []grades.Grade) ([]Planned, error) {
	byID := map[string]dataset.Instance{}
	for _, in := range p.Instances {
		byID[in.ID] = in
	}
	latest := grades.Latest(list)
	var plan []Planned
	for _, prediction := range predictions {
		if in, asked := byID[prediction.InstanceID]; asked {
			if _, err := swebench.ModelDir(prediction.Model); err != nil {
				return nil, fault.New(fault.Usage, "the prediction of "+in.ID, err)
			}
			plan = append(plan, Planned{Job: p.Job(in, prediction)})
		}
	}
	images, basis := p.images(ctx, plan, latest), p.basisOf(p.Sandboxes)
	for i := range plan {
		j := &plan[i]
		j.Keep, j.Why = p.decide(j.Job, latest[KeyOf(j.Prediction)], images[j.Instance.ImageName(p.Sandboxes.Prefix)], basis)
	}
	if p.ByImage {
		plan = imagecache.Group(plan, func(j Planned) []string {
			image := j.Instance.ImageName(p.Sandboxes.Prefix)
			return []string{cmp.Or(j.Instance.Repo, imagecache.Repository(image)), j.Instance.Version, image}
		})
	}
	return plan, nil
}

// decide says whether a prediction keeps its grade. Image is the id of its image, if known.
func (p Planner) decide(j Job, g grades.Grade, image string, basis func(dataset.Instance, *family.Task) grades.Basis) (keep bool, why string) {
	switch {
	case g.Verdict == "":
		return false, ""
	case p.Redo:
		return false, "replaces " + g.Verdict.String()
	case !g.Verdict.Counts():
		return false, "after " + g.Verdict.String()
	case g.Verdict == vocab.VerdictEmpty && p.RunEmpty:
		return false, "the tests were not run"
	case g.Verdict == vocab.VerdictEmpty:
		return true, g.Verdict.String()
	}
	changed := ""
	if j.Untestable == nil {
		now := basis(j.Instance, j.Task)
		if p.Standing {
			now.Parser, now.Limits, now.Network = g.Basis.Parser, g.Basis.Limits, g.Basis.Network
		}
		changed = now.Changed(g.Basis)
	}
	switch {
	case j.Untestable != nil:
		return false, "the row has changed"
	case g.Script != digest([]byte(j.Task.Script)):
		return false, "the eval script has changed"
	case g.Parser != j.Task.Parser && !(p.Standing && g.Basis.Parser != ""):
		return false, "the log parser has changed"
	case g.Rules != p.Rules.String() && !p.Standing:
		return false, "it was graded by the rules " + g.Rules
	case image != "" && g.ImageID != "" && image != g.ImageID:
		return false, "the image has changed"
	case changed != "":
		return false, changed
	case p.Repeat > 1 && g.Verdict != vocab.VerdictNoApply && len(g.Verdicts) < p.Repeat:
		return false, fmt.Sprintf("graded less than %d times", p.Repeat)
	}
	return true, g.Verdict.String()
}

// images returns the current ids of the graded predictions' images, by name. If the engine
// does not know an id, it is missing, and no prediction is graded again for it.
func (p Planner) images(ctx context.Context, plan []Planned, latest map[grades.Prediction]grades.Grade) map[string]string {
	var graded []dataset.Instance
	for _, j := range plan {
		if g := latest[KeyOf(j.Prediction)]; !p.Redo && g.Verdict.Counts() && g.ImageID != "" {
			graded = append(graded, j.Instance)
		}
	}
	if len(graded) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	ids, err := sandbox.ImageIDs(ctx, p.Sandboxes.Engines, p.Sandboxes.Options, graded, p.Sandboxes.Prefix, p.Sandboxes.Container.Platform)
	if err != nil && p.Tell != nil {
		p.Tell("did not check whether images have changed since they were graded: " + err.Error())
	}
	return ids
}

// lookLimit is how long a plan waits for the engine.
const lookLimit = 30 * time.Second
