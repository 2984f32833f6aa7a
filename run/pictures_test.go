package run

import (
	"testing"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
)

// A program of the user's leads its own conversation, which images are never added to: rows with images need
// neither the images nor a model with sight.
func TestAProgramNeedsNoImages(t *testing.T) {
	todo := []Planned{{Instance: dataset.Instance{ID: "a__a-1", Fields: map[string]any{"image_assets": `{"problem_statement": ["https://x.test/a.png"]}`}}}}
	for _, program := range []bool{false, true} {
		r := &Run{Config: Config{Settings: &config.Config{}}}
		r.Settings.Agent.Images, r.Model.Sight.Blind = true, true
		if program {
			r.Settings.Agent.Program.Command = []string{"p"}
		}
		if got := r.pictures(); (got == nil) != program {
			t.Errorf("program %v: images are got: %v", program, got != nil)
		}
		if err := r.checkSight(todo); (err == nil) != program {
			t.Errorf("program %v: %v", program, err)
		}
	}
}
