package run

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/fetch"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/regular"
	"batch.example/batch/llm/picture"
)

// Pictures says where a run finds the images of problem statements. The zero value downloads them for each
// attempt.
type Pictures struct {
	Assets    string // folder tasks of a task repository, with ID/problem_assets/NUMBER-NAME; empty: they are downloaded
	Downloads string // folder that keeps downloads for other runs; empty: none
}

const pictureTimeout = 30 * time.Second

// downloads returns the folder of downloaded images in batch's records about this machine.
func downloads(state string) string {
	if state == "" {
		return ""
	}
	return filepath.Join(state, "pictures")
}

// pictures returns the function that gets the images of an instance's problem statement; nil if the model is
// shown none.
func (r *Run) pictures() func(context.Context, dataset.Instance) ([]picture.Picture, error) {
	if !r.showsPictures() {
		return nil
	}
	return func(ctx context.Context, in dataset.Instance) (list []picture.Picture, err error) {
		named, err := in.Pictures()
		if err != nil {
			return nil, err
		}
		for i, p := range named {
			image, err := r.Pictures.get(ctx, in.ID, p)
			if err != nil {
				return nil, fault.New(fault.KindOf(err), fmt.Sprintf("getting image %d of %d of the problem statement", i+1, len(named)), err).
					WithHint("give a task repository's folder tasks with `--assets`: it has the image as %s,\nor run without images: `-c agent.images=false`",
						filepath.Join(in.ID, "problem_assets", p.File))
			}
			list = append(list, image)
		}
		if err := picture.Fit(list, r.Model.Sight); err != nil {
			return nil, fault.New(fault.Instance, "fitting the images of the problem statement into the provider's limits", err)
		}
		return list, nil
	}
}

// showsPictures reports whether the model is shown images: a model that batch plays sees nothing, and a program has its
// own conversation.
func (r *Run) showsPictures() bool {
	a := &r.Settings.Agent
	return a.Images && len(a.Program.Command) == 0 && !r.Model.Played
}

// checkSight refuses to run instances with images with a model that is known to see none.
func (r *Run) checkSight(todo []Planned) error {
	if !r.showsPictures() || !r.Model.Sight.Blind {
		return nil
	}
	n := 0
	for _, in := range todo {
		if list, err := in.Pictures(); err == nil && len(list) > 0 { // the attempt reports the error
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fault.Newf(fault.Usage, "model %q takes no images, by the registry of its price, and the problem statement of %s", r.Settings.Model.ModelName,
		printable.Count(n, "instance has some", "instances have some")).WithHint("run without images: `-c agent.images=false`")
}

// get returns an image of an instance.
func (p Pictures) get(ctx context.Context, id string, named dataset.Picture) (picture.Picture, error) {
	found := picture.Picture{Source: named.URL}
	check := func(data []byte) (err error) {
		found.Image, err = picture.Read(data)
		return err
	}
	if p.Assets == "" {
		_, err := fetch.Client{Limit: picture.Limit, Timeout: pictureTimeout, Dir: p.Downloads}.Get(ctx, named.URL, check)
		return found, err
	}
	data, err := regular.ReadFile(filepath.Join(p.Assets, id, "problem_assets", named.File))
	if err != nil {
		return found, fault.New(fault.Instance, "", err)
	}
	if err := check(data); err != nil {
		return found, fault.New(fault.Instance, named.File, err)
	}
	return found, nil
}
