package swebench

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"batch.example/batch/internal/python"
)

// Metadata is the content of metadata.yaml. The members have the same order as in the leaderboard's
// repository.
type Metadata struct {
	Assets *Assets `yaml:"assets,omitempty"`
	Info   struct {
		Authors string `yaml:"authors"`
		Logo    string `yaml:"logo,omitempty"`
		Name    string `yaml:"name"`
		Report  string `yaml:"report"`
		Site    string `yaml:"site"`
	} `yaml:"info"`
	Tags struct {
		Checked  bool     `yaml:"checked"` // only the leaderboard's maintainers set it
		Model    []string `yaml:"model"`
		Org      []string `yaml:"org"`
		OSModel  bool     `yaml:"os_model"`
		OSSystem bool     `yaml:"os_system"`
		System   struct {
			Attempts string `yaml:"attempts"` // per instance: "1", or "2+"
		} `yaml:"system"`
	} `yaml:"tags"`
}

// Assets has the locations of a submission's parts.
type Assets struct {
	Repo  string `yaml:"repo,omitempty"`
	Logs  string `yaml:"logs"`
	Trajs string `yaml:"trajs"`
}

// YAML returns the text of the file.
func (m Metadata) YAML() ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// Results is the content of results.json. Its lists are ids of instances.
type Results struct {
	None     []string `json:"no_generation"`
	NoLogs   []string `json:"no_logs"`
	Resolved []string `json:"resolved"`
}

// JSON returns the text of the file, as the leaderboard's analysis/get_results.py writes it.
func (r Results) JSON() ([]byte, error) {
	text, err := python.JSON(r, "")
	return append(text, '\n'), err
}
