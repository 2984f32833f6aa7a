package trajectory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// Only base64 of types that a browser draws becomes an address of an image.
func TestImagesOfAMessage(t *testing.T) {
	m := gjson.Parse(`{"role":"user","content":"task","extra":{"images":[{"source":"https://x/a.png","changed":"smaller"},{"source":"https://x/b.gif"}],"parts":[{"type":"text"},
		{"type":"image","media_type":"image/png","data":"iVBORw=="},
		{"type":"image","media_type":"image/svg+xml","data":"PHN2Zz4="},
		{"type":"image","media_type":"text/html","data":"PHN2Zz4="},
		{"type":"image","media_type":"image/png","data":"\"><script>"},
		{"type":"file","media_type":"image/png","data":"iVBORw=="},
		{"type":"tool_result","parts":[{"type":"image","media_type":"image/gif","data":"R0lG"}]},
		{"type":"image","media_type":"image/jpeg","data":""}]}}`)
	got := imagesOf(m)
	want := []Image{
		{Type: "image/png", Bytes: 4, Source: "https://x/a.png, smaller", Data: "iVBORw=="}, {Type: "image/gif", Bytes: 3, Source: "https://x/b.gif", Data: "R0lG"}, {Type: "image/jpeg"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := got[1].URL(); got != "data:image/gif;base64,R0lG" {
		t.Error(got)
	}
	if got := imagesOf(gjson.Parse(`{"role":"user","content":"task","extra":{"parts":"text"}}`)); got != nil {
		t.Errorf("got %v", got)
	}
}
