package swebench

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/internal/regular"
)

// The files of a submission to the public leaderboard.
const (
	metadataName = "metadata.yaml"
	linesName    = "all_preds.jsonl"
	PredsName    = "preds.json" // used instead of linesName; also the name that SWE-agent and batch use
	resultsName  = "results/results.json"
	logsDir      = "logs"
	TrajsDir     = "trajs"

	detailsName = "per_instance_details.json" // for runs by the leaderboard's maintainers
)

// Submission has the results of a submission to the public leaderboard.
type Submission struct {
	Model    string // empty if unknown
	Verdicts Verdicts
	Details  map[string]Detail // only for runs by the leaderboard's maintainers; otherwise nil
}

// Detail has the cost of one instance. Unknown values are nil.
type Detail struct {
	Resolved *bool    `json:"resolved"`
	Cost     *float64 `json:"cost"`
	Calls    *int     `json:"api_calls"`
}

// IsSubmission reports whether dir has the layout of a submission to the public leaderboard.
func IsSubmission(dir string) bool {
	has := func(name string) bool { return exists(filepath.Join(dir, name)) }
	return has(resultsName) || has(detailsName) || has(metadataName) && has(logsDir)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ReadSubmission reads a submission to the leaderboard. If it has details, only they count.
// Otherwise results.json counts, then the predictions and logs for instances that it does not list.
// Without results.json, the logs count. [ParseFinal] explains instances.
func ReadSubmission(dir string, instances []string) (Submission, error) {
	s := Submission{Model: modelOf(dir), Verdicts: Verdicts{}}
	if path := filepath.Join(dir, detailsName); exists(path) {
		err := s.readDetails(path)
		return s, err
	}
	logs := Verdicts{}
	var err error
	if tree := filepath.Join(dir, logsDir); exists(tree) {
		if logs, err = mergedTree(tree); err != nil {
			return s, err
		}
	}
	preds, err := readPredicted(dir)
	if err != nil {
		return s, err
	}
	if preds != nil && len(preds.models) > 1 {
		s.Model = "several models: " + strings.Join(preds.models, ", ")
	} else if preds != nil {
		s.Model = cmp.Or(strings.Join(preds.models, ""), s.Model)
	}
	path := filepath.Join(dir, resultsName)
	if !exists(path) {
		s.Verdicts = logs
		preds.addTo(logs)
		return s, nil
	}
	r, err := readResults(path)
	if err != nil {
		return s, err
	}
	if preds == nil && len(logs) == 0 {
		s.Verdicts, err = r.all(instances)
		return s, err
	}
	s.Verdicts = r.verdicts()
	for id, one := range logs {
		if was, known := s.Verdicts[id]; !known || one.weight() > was.weight() {
			s.Verdicts[id] = one
		}
	}
	if preds != nil {
		s.Verdicts.complement(preds.ids, path)
	}
	return s, nil
}

// readResults reads a file that must be a report of any version.
func readResults(path string) (idLists, error) {
	text, err := regular.ReadFile(path)
	if err != nil {
		return idLists{}, reading(err)
	}
	r, ok, err := parseFinal(path, text)
	if err != nil || ok {
		return r, err
	}
	var object map[string]json.RawMessage
	if err := decode(path, "", text, &object); err != nil {
		return idLists{}, err
	}
	return idLists{}, malformed(path, "resolved", errors.New("expected a list, found none"))
}

// readDetails reads per_instance_details.json.
func (s *Submission) readDetails(path string) error {
	var members map[string]json.RawMessage
	if err := readJSON(path, &members); err != nil {
		return err
	}
	s.Details = map[string]Detail{}
	for id, text := range members {
		var one Detail
		if err := decode(path, id, text, &one); err != nil {
			return err
		}
		v := Verdict{Left: NotGraded, File: path}
		if one.Resolved != nil {
			v = Verdict{Resolved: *one.Resolved, File: path}
		}
		s.Verdicts[id], s.Details[id] = v, one
	}
	return nil
}

// modelOf returns the model that metadata.yaml names, or "" if the file cannot be read.
func modelOf(dir string) string {
	text, err := regular.ReadFile(filepath.Join(dir, metadataName))
	if err != nil {
		return ""
	}
	var m struct {
		Tags struct {
			Model any `yaml:"model"`
		} `yaml:"tags"`
	}
	if yaml.Unmarshal(text, &m) != nil {
		return ""
	}
	switch model := m.Tags.Model.(type) {
	case string:
		return model
	case []any:
		if len(model) == 1 {
			name, _ := model[0].(string)
			return name
		}
	}
	return ""
}

// predicted has the predictions of a submission.
type predicted struct {
	ids    []string
	empty  map[string]bool
	models []string // named by the predictions, in order
}

// addTo adds predictions without a verdict. Without a patch, there was nothing to test.
func (p *predicted) addTo(v Verdicts) {
	if p == nil {
		return
	}
	for _, id := range p.ids {
		if _, known := v[id]; known {
			continue
		}
		v[id] = Verdict{}
		if !p.empty[id] {
			v[id] = Verdict{Left: NotGraded}
		}
	}
}

// readPredicted reads all_preds.jsonl or preds.json; it returns nil if neither exists. Only whether
// a patch is empty matters, so an old row without a patch counts as empty.
func readPredicted(dir string) (*predicted, error) {
	path := filepath.Join(dir, linesName)
	data, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(dir, PredsName)
		data, err = regular.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, reading(err)
	}
	p := &predicted{empty: map[string]bool{}}
	_, err = ScanPredictions(path, data, func(one Prediction) error {
		if one.Unfit != nil && !errors.Is(one.Unfit, ErrNoPatch) {
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
	return p, err
}
