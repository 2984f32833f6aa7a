package grading

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/sandbox"
	"batch.example/batch/sandbox/images"
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
	ids, basis := p.images(ctx, plan, latest), p.basisOf(p.Sandboxes)
	for i := range plan {
		j := &plan[i]
		if j.Prediction.Excused {
			j.Keep, j.Why = true, "infrastructure of another tool failed: in no rate"
			continue
		}
		var stale bool
		if j.Keep, j.Why, stale = p.decide(j.Job, latest[KeyOf(j.Prediction)], ids[j.Instance.ImageName(p.Sandboxes.Prefix)], basis); stale {
			j.Stale = j.Why
		}
	}
	if p.ByImage {
		plan = images.Group(plan, func(j Planned) []string {
			image := j.Instance.ImageName(p.Sandboxes.Prefix)
			return []string{cmp.Or(j.Instance.Repo, images.Repository(image)), j.Instance.Version, image}
		})
	}
	return plan, nil
}

// decide says whether a prediction keeps its grade, and otherwise whether the grade is stale. Image
// is the id of its image, if known.
func (p Planner) decide(j Job, g grades.Grade, image string, basis func(dataset.Instance, *family.Task) grades.Basis) (keep bool, why string, stale bool) {
	switch {
	case j.Instance.Task != nil && !p.Solve && !p.RunEmpty:
		return true, onlyThere, false
	case g.Verdict == "":
		return false, "", false
	case p.Redo:
		return false, "replaces " + g.Verdict.String(), false
	case !g.Verdict.Counts():
		return false, "after " + g.Verdict.String(), false
	case j.Instance.Task != nil:
		changed := p.basisOfTask(j.Instance.Task).Changed(g.Basis)
		return changed == "", cmp.Or(changed, g.Verdict.String()), changed != ""
	case g.Verdict == vocab.VerdictEmpty && p.RunEmpty:
		return false, "the tests were not run", false
	case g.Verdict == vocab.VerdictEmpty:
		return true, g.Verdict.String(), false
	}
	changed, ofRow := "", false
	if j.Untestable == nil {
		now := basis(j.Instance, j.Task)
		if p.Standing {
			now.Parser, now.Limits, now.Network = g.Basis.Parser, g.Basis.Limits, g.Basis.Network
		}
		changed = now.Changed(g.Basis)
		// Under other limits or rules of batch's, the old verdict is still right under its own.
		now.Limits, now.Network, now.Rules = g.Basis.Limits, g.Basis.Network, g.Basis.Rules
		ofRow = g.Basis != (grades.Basis{}) && now.Changed(g.Basis) != ""
	}
	switch {
	case j.Untestable != nil:
		return false, "the row has changed", true
	case g.Script != digest([]byte(j.Task.Script)):
		return false, "the eval script has changed", true
	case g.Parser != j.Task.Parser && !(p.Standing && g.Basis.Parser != ""):
		return false, "the log parser has changed", true
	case g.Rules != p.Rules.String() && !p.Standing:
		return false, "it was graded by the rules " + g.Rules, ofRow
	case image != "" && g.ImageID != "" && image != g.ImageID:
		return false, "the image has changed", true
	case changed != "":
		return false, changed, ofRow
	case p.Repeat > 1 && g.Verdict != vocab.VerdictNoApply && len(g.Verdicts) < p.Repeat:
		return false, fmt.Sprintf("graded less than %d times", p.Repeat), false
	}
	return true, g.Verdict.String(), false
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

// Withdraw records that the verdicts of stale jobs do not hold any more, so that nothing counts them
// if judging again fails or is interrupted. done says that there were such jobs.
func Withdraw(log *grades.Log, rules logparse.Rules, jobs []Job) (done bool, err error) {
	for _, j := range jobs {
		if j.Stale == "" {
			continue
		}
		g := newGrade(j, rules)
		g.Withdraws, g.Verdict, g.Blame = true, vocab.VerdictInfrastructure, fault.Unknown.String()
		g.Error = "not judged again yet: " + j.Stale
		if err := log.Add(g); err != nil {
			return done, err
		}
		done = true
	}
	return done, nil
}

// lookLimit is how long a plan waits for the engine.
const lookLimit = 30 * time.Second
