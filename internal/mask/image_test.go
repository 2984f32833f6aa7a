package mask_test

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"batch.example/batch/internal/mask"
)

// A pattern may match base64 by chance: an image stays whole. One with a secret in its bytes is left out.
func TestImagesAreWholeOrLeftOut(t *testing.T) {
	m := mask.New(mask.Secret{Name: "K", Value: "literal-secret-0815"})
	m.AddPatterns(regexp.MustCompile(`[A-Za-z0-9+/]{20}`))
	image := func(data string) string {
		text, err := json.Marshal(map[string]any{"content": "literal-secret-0815", "extra": map[string]any{"parts": []any{
			json.RawMessage(`{"type":"image","media_type":"image/png","data":"` + base64.StdEncoding.EncodeToString([]byte(data)) + `"}`),
			map[string]any{"data": strings.Repeat("A", 40)}, // no image
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	whole := strings.Repeat("\x89PNG and so on", 20)
	got := string(m.JSON([]byte(image(whole))))
	if !strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(whole))) || strings.Contains(got, "0815") || strings.Contains(got, "AAAA") {
		t.Errorf("got %s", got)
	}
	for _, before := range []string{"\x89PNG", "\x89PNG1", "\x89PNG12"} { // each place in a group of base64
		got := string(m.JSON([]byte(image(before + "literal-secret-0815"))))
		if !strings.Contains(got, `"media_type":"image/png","data":""`) || !json.Valid([]byte(got)) {
			t.Errorf("got %s", got)
		}
	}
}
