package main

import (
	"strings"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// imageDataset is a dataset of one instance, without a file: work in a container of an image.
// Its row is the image alone, so that the same instance is resumed for any task. An empty id is
// made from the image's name.
func imageDataset(image, id, task string) (*dataset.Dataset, error) {
	if strings.TrimSpace(image) == "" || strings.ContainsAny(image, " \t\n") {
		return nil, fault.Newf(fault.Usage, "--image %q: expected the name of an image", image)
	}
	if id == "" {
		id = imageID(image)
	}
	in := dataset.Instance{
		ID: id, ProblemStatement: task, Image: image,
		Fields: map[string]any{"instance_id": id, "image_name": image},
	}
	if strings.TrimSpace(task) == "" {
		in.ProblemStatement = "(what a person says)"
	}
	return &dataset.Dataset{Name: "image " + image, Digest: in.Digest(), Instances: []dataset.Instance{in}}, nil
}

// imageID names an instance after its image: the last part of the name, without tag or
// digest.
func imageID(image string) string {
	name, _, _ := strings.Cut(image, "@")
	name = name[strings.LastIndex(name, "/")+1:]
	name, _, _ = strings.Cut(name, ":")
	if vocab.CheckID(name) != nil {
		return "chat"
	}
	return name
}
