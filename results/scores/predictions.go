package scores

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/swebench"
)

// predicted are the predictions of a submission.
type predicted struct {
	ids   []string
	empty map[string]bool

	models []string // that it names, in order
}

// model names the model that made the predictions, or all that did.
func (p *predicted) model() string {
	if len(p.models) > 1 {
		return "several models: " + strings.Join(p.models, ", ")
	}
	return strings.Join(p.models, "")
}

// onlyEmpty adds what has no log because there was nothing to test.
func (p *predicted) onlyEmpty(v verdicts) {
	if p == nil {
		return
	}
	for _, id := range p.ids {
		if _, known := v[id]; known {
			continue
		}
		v[id] = verdict{left: NotGraded}
		if p.empty[id] {
			v[id] = verdict{}
		}
	}
}

// readPredictions reads all_preds.jsonl or preds.json; nil if there is neither.
func readPredictions(dir string) (*predicted, string, error) {
	for _, name := range []string{linesFile, predsFile} {
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, "", fault.New(fault.Usage, "reading scores", err)
		}
		p, err := parsePredictions(path, data)
		if err != nil {
			return nil, "", err
		}
		return p, p.model(), nil
	}
	return nil, "", nil
}

// parsePredictions reads predictions of any form. Only whether the patch is empty matters, so
// an old row without one has an empty one.
func parsePredictions(path string, data []byte) (*predicted, error) {
	p := &predicted{empty: map[string]bool{}}
	_, err := swebench.ScanPredictions(path, data, func(one swebench.Prediction) error {
		if one.Unfit != nil && !errors.Is(one.Unfit, swebench.ErrNoPatch) {
			return one.Unfit
		}
		if _, twice := p.empty[one.InstanceID]; !twice {
			p.ids = append(p.ids, one.InstanceID)
		}
		p.empty[one.InstanceID] = one.Patch == ""
		if one.Model != "" && !slices.Contains(p.models, one.Model) {
			p.models = append(p.models, one.Model)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}
