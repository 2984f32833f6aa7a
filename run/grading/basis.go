package grading

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"batch.example/batch/dataset"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
	"batch.example/batch/results/grades"
	"batch.example/batch/sandbox"
)

// basisOf returns a function that says what a verdict on an instance is made by.
func (s Settings) basisOf(boxes sandbox.Config) func(dataset.Instance, *family.Task) grades.Basis {
	program := ""
	if s.Options.Parser != "" {
		if data, err := os.ReadFile(s.Options.Parser); err == nil { // otherwise running it reports the error
			program = digest(data)
		}
	}
	container := s.container(boxes)
	return func(in dataset.Instance, t *family.Task) grades.Basis {
		return grades.Basis{
			Tests:   digestOf(t.Family, t.Tests, t.Repo, t.EvalType),
			Parser:  program,
			Setup:   digest([]byte(t.Setup)),
			Files:   digestOf(t.Workdir, t.BaseCommit, t.TestFiles, in.Fields["image_assets"], assetsIn(s.Assets, in)),
			Gold:    digest(t.Gold),
			Limits:  digestOf(limitOf(s.Timeout, t), container),
			Network: networkOf(s.Network, t),
			Rules:   evaluate.Rules,
		}
	}
}

// container is everything about the containers that a log may depend on, except their
// network.
func (s Settings) container(boxes sandbox.Config) string {
	spec := boxes.Container
	spec.Network = ""
	return fmt.Sprintf("%+v cpus=%v", spec, boxes.MaxCPUs)
}

// assetsIn is a digest of the files in the folder of --assets that an instance's tests need.
func assetsIn(folder string, in dataset.Instance) string {
	if folder == "" {
		return ""
	}
	found, err := assets(context.Background(), in, folder) // which downloads nothing from a folder
	if err != nil {                                        // the instance cannot be graded, which grading reports
		return ""
	}
	return digestOf(found)
}

// digestOf is a digest of values that JSON can hold.
func digestOf(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		return digest(fmt.Append(nil, values...)) // a row's column that JSON cannot hold, such as NaN
	}
	return digest(text)
}
