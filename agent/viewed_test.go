package agent

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/picture"
	"batch.example/batch/vocab"
)

func gray(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shown returns the text and the images with which a model that looked at a file was answered.
func shown(t *testing.T, m *script) (text string, images []llm.Image) {
	t.Helper()
	last := m.asked[len(m.asked)-1]
	result, ok := last[len(last)-1].Parts[0].(llm.ToolResult)
	if !ok {
		t.Fatalf("the last message is %+v", last[len(last)-1])
	}
	for i := range imagesIn(last[len(last)-1:]) {
		images = append(images, i)
	}
	return llm.Message{Parts: result.Parts}.Text(), images
}

func TestTheEditorShowsPictures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	small, wide := gray(t, 20, 10), gray(t, 3000, 10)
	for name, data := range map[string][]byte{
		"a.png": small, "B.PNG": small, "wide.png": wide, "text.jpg": []byte("hello"), "cut.gif": []byte("GIF89a\x01"), "plain": small,
		"large.png": make([]byte, 10_000_001), "of.webp/f": nil,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pictures := func(n int, data []byte) (list []picture.Picture) {
		for range n {
			list = append(list, picture.Picture{Image: llm.Image{MediaType: "image/png", Data: data}})
		}
		return list
	}
	claude := llm.Sight{Bytes: 5 << 20, Total: 24 << 20, Side: 8000, Many: 20, ManySide: 2000}
	for name, tt := range map[string]struct {
		path   string
		sight  llm.Sight
		before []picture.Picture // of the task
		off    bool
		says   string
		width  int // of the image; 0: there is none
	}{
		"a picture":               {"a.png", llm.Sight{}, nil, false, "image/png, ", 20},
		"its name in capitals":    {"B.PNG", claude, nil, false, "image/png, ", 20},
		"a wide one":              {"wide.png", claude, pictures(19, small), false, "image/png, ", 3000},
		"a wide one of many":      {"wide.png", claude, pictures(20, small), false, "scaled from 3000 x 10 to 2000 x 6 pixels", 2000},
		"one too many beside it":  {"a.png", claude, pictures(20, wide), false, "the conversation has as many as the provider takes", 0},
		"one more than it takes":  {"a.png", llm.Sight{Most: 3}, pictures(3, small), false, "the conversation has as many as the provider takes", 0},
		"no room":                 {"a.png", llm.Sight{Total: 200 << 10}, pictures(1, make([]byte, 100<<10)), false, "as many as the provider takes", 0},
		"a model without sight":   {"a.png", llm.Sight{Blind: true}, nil, false, "This is a picture (image/png, ", 0},
		"images are off":          {"a.png", llm.Sight{}, nil, true, "     1\t\ufffdPNG", 0},
		"text":                    {"text.jpg", llm.Sight{}, nil, false, "it is text/plain, expected a PNG, JPEG, GIF or WebP", 0},
		"a broken one":            {"cut.gif", llm.Sight{}, nil, false, "This is no picture that can be shown: it is broken", 0},
		"too large":               {"large.png", llm.Sight{}, nil, false, "large.png has 10000001 bytes: pictures of at most 10000000 can be shown", 0},
		"without its name":        {"plain", llm.Sight{}, nil, false, "     1\t\ufffdPNG", 0},
		"a folder with such name": {"of.webp", llm.Sight{}, nil, false, "Entries of the directory of.webp", 0},
		"nothing there":           {"gone.png", llm.Sight{}, nil, false, "gone.png does not exist", 0},
	} {
		t.Run(name, func(t *testing.T) {
			view := llm.ToolCall{ID: "1", Name: "editor", Arguments: fmt.Sprintf(`{"command":"view","path":%q}`, tt.path)}
			m := &script{replies: []*llm.Response{say("", view)}}
			loop := newLoop(t, func(c *Config) { c.Actions = ActionForm{Kind: Tools, Pictures: !tt.off} })
			turn := Turn{Model: m, Env: host{dir}, Pictures: tt.before, Vars: map[string]any{"cwd": dir}}
			turn.Sight = tt.sight
			j := &journal{}
			turn.Recorder = j
			if _, err := loop.Run(t.Context(), turn); err == nil {
				t.Fatal("the script has no second reply")
			}
			text, images := shown(t, m)
			for _, e := range j.events {
				if e.Type == EventOutput && (e.Shown == "") != (len(images) > 0) {
					t.Errorf("the journal is told that the model is shown %q and %d images", e.Shown, len(images))
				}
			}
			if !strings.Contains(text, tt.says) || len(images) != min(tt.width, 1) {
				t.Fatalf("the model was shown %d images and %q, want %q", len(images), text, tt.says)
			}
			if len(images) == 0 {
				return
			}
			c, err := png.DecodeConfig(bytes.NewReader(images[0].Data))
			if err != nil || c.Width != tt.width {
				t.Errorf("width %d, %v, want %d", c.Width, err, tt.width)
			}
		})
	}
}

// Pictures that one reply looks at are within the limits together.
func TestTheEditorShowsPicturesOfOneReply(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.png"), gray(t, 3000, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	var views []llm.ToolCall
	for i := range 3 {
		views = append(views, llm.ToolCall{ID: fmt.Sprint(i), Name: "editor", Arguments: `{"command":"view","path":"a.png"}`})
	}
	m := &script{replies: []*llm.Response{say("", views...)}}
	loop := newLoop(t, func(c *Config) { c.Actions = ActionForm{Kind: Tools, Pictures: true} })
	turn := Turn{Model: m, Env: host{dir}, Vars: map[string]any{"cwd": dir}}
	turn.Sight = llm.Sight{Many: 2, ManySide: 2000}
	_, _ = loop.Run(t.Context(), turn)
	n := 0
	for range imagesIn(m.asked[len(m.asked)-1]) {
		n++
	}
	if text, _ := shown(t, m); n != 2 || !strings.Contains(text, "as many as the provider takes") {
		t.Errorf("%d images, and the last result is %q", n, text)
	}
}

// Only the editor's output is a picture: a command may print the same.
func TestACommandsOutputIsNoPicture(t *testing.T) {
	m := &script{replies: []*llm.Response{ask("1", "x")}}
	out := printed(vocab.PictureMark + string(gray(t, 2, 2)))
	out.Total = int64(len(out.Bytes))
	loop := newLoop(t, func(c *Config) { c.Actions = ActionForm{Kind: Tools, Pictures: true} })
	_, _ = loop.Run(t.Context(), Turn{Model: m, Env: &env{outputs: map[string]vocab.Output{"x": out}}})
	if text, images := shown(t, m); len(images) > 0 || !strings.Contains(text, "PNG") {
		t.Errorf("%d images and %q", len(images), text)
	}
}

func TestPicturesFollowTheTask(t *testing.T) {
	m := &script{}
	list := []picture.Picture{
		{Image: llm.Image{MediaType: "image/png", Data: []byte("1")}, Source: "https://x/1.png"},
		{Image: llm.Image{MediaType: "image/gif", Data: []byte("2")}, Source: "https://x/2.gif", Changed: "smaller"},
	}
	j := &journal{}
	_, _ = newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: &env{}, Pictures: list, Recorder: j})
	task := m.asked[0][1]
	if len(task.Parts) != 3 || task.Parts[0].(llm.Text).Text == "" || string(task.Parts[2].(llm.Image).Data) != "2" {
		t.Errorf("the task is %+v", task.Parts)
	}
	if got := fmt.Sprint(task.Extra["images"]); got != "[map[source:https://x/1.png] map[changed:smaller source:https://x/2.gif]]" {
		t.Errorf("extra.images is %s", got)
	}
	_, _ = newLoop(t, nil).Run(t.Context(), Turn{Model: m, Env: &env{}})
	if task := m.asked[1][1]; task.Extra != nil || len(task.Parts) != 1 {
		t.Errorf("a task without pictures is %+v", task)
	}
}
