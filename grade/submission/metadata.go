package submission

import (
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/swebench"
)

// Metadata is the submitter's description of a submission. Its fields are members of metadata.yaml
// and flags of `batch export`.
type Metadata struct {
	Name     string   // --name, of the entry on the leaderboard
	Site     string   // --site, a link to more about the system
	Report   string   // --report, a link to a technical report, a paper or a post
	Authors  []string // --authors
	Org      []string // --org
	Model    []string // --model; without one, the predictions' model
	Logo     string   // --logo, an image file; optional
	Repo     string   // --artifacts, a public repository with predictions, logs and trajs; optional
	OSModel  *bool    // --os-model: the model's weights are open
	OSSystem *bool    // --os-system: the system's code is open
}

// missing lists the required values that are absent.
func (m Metadata) missing() []string {
	var list []string
	for _, v := range []struct {
		is         bool
		flag, what string
	}{
		{m.Name != "", "--name NAME", "what the leaderboard calls the entry"},
		{m.Site != "", "--site URL", "a page about the system"},
		{m.Report != "", "--report URL", "a paper, technical report or post that describes it"},
		{len(m.Authors) > 0, "--authors NAME,...", "who made the submission"},
		{len(m.Org) > 0, "--org NAME", "the organization behind it"},
		{m.OSModel != nil, "--os-model=true|false", "whether the model's weights are open"},
		{m.OSSystem != nil, "--os-system=true|false", "whether the system's code is open"},
	} {
		if !v.is {
			list = append(list, "metadata: "+v.flag+" is missing: "+v.what)
		}
	}
	for _, v := range []struct{ flag, value string }{{"--site", m.Site}, {"--report", m.Report}, {"--artifacts", m.Repo}} {
		if v.value != "" && !strings.HasPrefix(v.value, "https://") && !strings.HasPrefix(v.value, "http://") {
			list = append(list, "metadata: "+v.flag+" "+v.value+": expected a link that begins with https://")
		}
	}
	if ext := strings.ToLower(filepath.Ext(m.Logo)); m.Logo != "" && !slices.Contains(logoTypes, ext) {
		list = append(list, "metadata: --logo "+m.Logo+": expected a file of type "+strings.Join(logoTypes, " "))
	}
	return list
}

// logoTypes are the types of images that the repository of entries accepts.
var logoTypes = []string{".png", ".jpg", ".jpeg", ".svg", ".gif", ".webp"}

// logoName returns the name of the logo's file in the folder, or "" without one.
func (m Metadata) logoName() string {
	if m.Logo == "" {
		return ""
	}
	return "logo" + strings.ToLower(filepath.Ext(m.Logo))
}

// bucket is where entries kept logs and trajs before submitters kept them.
const bucket = "s3://swe-bench-submissions"

// yaml returns metadata.yaml of a submission in the folder named folder.
func (m Metadata) yaml(r *Run, t Target, folder string) ([]byte, error) {
	var file swebench.Metadata
	info, tags := &file.Info, &file.Tags
	info.Authors, info.Logo, info.Name, info.Report, info.Site = strings.Join(m.Authors, ", "), m.logoName(), m.Name, m.Report, m.Site
	tags.Model, tags.Org, tags.OSModel, tags.OSSystem, tags.System.Attempts = m.Model, m.Org, *m.OSModel, *m.OSSystem, "1"
	if len(tags.Model) == 0 {
		tags.Model = r.models()
	}
	if t.Board.Name != "multimodal" {
		place := ""
		switch {
		case m.Repo != "":
			place = strings.TrimRight(m.Repo, "/") + "/"
		case t.Board.Name != "":
			place = bucket + "/" + t.Board.Name + "/" + folder + "/"
		}
		file.Assets = &swebench.Assets{Repo: m.Repo, Logs: place + swebench.LogsDir, Trajs: place + swebench.TrajsDir}
	}
	return file.YAML()
}
