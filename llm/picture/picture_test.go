package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/gemini"
	"batch.example/batch/llm/openai"
)

// noise is a picture that no form makes small.
func noise(w, h int) image.Image {
	r := rand.New(rand.NewPCG(1, 2))
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

func encoded(t testing.TB, img image.Image, form string, frames int) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch form {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "gif":
		one := image.NewPaletted(img.Bounds(), palette.Plan9)
		for x := range img.Bounds().Dx() {
			one.Set(x, 0, color.White)
		}
		g := &gif.GIF{}
		for range frames {
			g.Image, g.Delay = append(g.Image, one), append(g.Delay, 1)
		}
		err = gif.EncodeAll(&b, g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// webp is a picture of one pixel.
const webp = "RIFF\x1a\x00\x00\x00WEBPVP8L\r\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"

// bomb is a PNG that says it has a side of 65000 pixels.
func bomb() []byte {
	head := []byte("IHDR\x00\x00\xfd\xe8\x00\x00\xfd\xe8\x08\x06\x00\x00\x00")
	data := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(head))
}

func TestWhatAPictureIs(t *testing.T) {
	whole := encoded(t, noise(40, 30), "png", 1)
	remark := slices.Concat(whole[:33], []byte("\x00\x00\x00\x01tEXtxABCD"), whole[33:])
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for name, tt := range map[string]struct {
		data    string
		want    string
		problem string
	}{
		"a PNG":                      {string(whole), "image/png", ""},
		"a JPEG":                     {string(encoded(t, noise(40, 30), "jpeg", 1)), "image/jpeg", ""},
		"a GIF":                      {string(encoded(t, noise(40, 30), "gif", 3)), "image/gif", ""},
		"a WebP":                     {webp, "image/webp", ""},
		"a PNG with a broken remark": {string(remark), "image/png", ""},
		"a PNG with a flipped bit":   {string(flipped), "", "the PNG is broken"},
		"a truncated PNG":            {string(whole[:len(whole)-400]), "", "the PNG is broken"},
		"a head alone":               {string(whole[:20]), "", "it is broken"},
		"a bomb":                     {string(bomb()), "", "65000 x 65000 pixels, expected at most 64000000"},
		"HTML":                       {"<!DOCTYPE html><html><img src=a.png></html>", "", "it is text/html, expected a PNG, JPEG, GIF or WebP"},
		"an SVG":                     {`<svg xmlns="http://www.w3.org/2000/svg"/>`, "", "it is image/svg+xml, expected"},
		"an SVG in XML":              {`<?xml version="1.0"?><svg/>`, "", "it is image/svg+xml, expected"},
		"a BMP":                      {"BM123456789012345678901234567890", "", "it is image/bmp, expected"},
		"too large":                  {string(make([]byte, Limit+1)), "", "it has more than 10485760 bytes"},
		"nothing":                    {"", "", "it is empty"},
		"text":                       {"version https://git-lfs.github.com/spec/v1", "", "it is text/plain, expected"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read([]byte(tt.data))
			if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Fatalf("got %v, want %q", err, tt.problem)
			}
			if err == nil && (got.MediaType != tt.want || string(got.Data) != tt.data) {
				t.Errorf("got %s with %d bytes, want %s with %d", got.MediaType, len(got.Data), tt.want, len(tt.data))
			}
		})
	}
}

func TestProvidersGetWhatTheyTake(t *testing.T) {
	claude, gem, gpt := anthropic.Protocol.Sight, gemini.Protocol.Sight, llm.Sight{Most: 500, Total: 37 << 20, NoGIF: true}
	if openai.Protocol.Sight != (llm.Sight{}) {
		t.Error("OpenAI's own row has a sight beside that of all who follow it")
	}
	wide, narrow := image.Image(image.NewGray(image.Rect(0, 0, 9000, 90))), image.Image(image.NewGray(image.Rect(0, 0, 3000, 30)))
	for name, tt := range map[string]struct {
		sight   llm.Sight
		form    string
		img     image.Image
		count   int
		want    string // media type
		changed string // in the note; empty: the bytes are the same
	}{
		"a usual picture":                {claude, "png", noise(50, 50), 20, "image/png", ""},
		"8000 pixels":                    {claude, "png", wide, 1, "image/png", "from 9000 x 90 to 8000 x 80 pixels"},
		"2000 pixels are for many":       {claude, "png", narrow, 20, "image/png", ""},
		"many":                           {claude, "png", narrow, 21, "image/png", "from 3000 x 30 to 2000 x 20 pixels"},
		"5 MB":                           {claude, "png", noise(1400, 1400), 1, "image/png", "from 1400 x 1400 to "},
		"a JPEG stays one":               {llm.Sight{Bytes: 100 << 10}, "jpeg", noise(400, 400), 1, "image/jpeg", "from 400 x 400 to "},
		"no limit of one":                {gpt, "png", noise(1400, 1400), 1, "image/png", ""},
		"a request of 20 MB":             {gem, "png", noise(1400, 1400), 3, "image/png", "from 1400 x 1400 to "},
		"40 pictures":                    {gpt, "png", noise(50, 50), 40, "image/png", ""},
		"an animation":                   {gpt, "gifs", noise(9, 9), 1, "image/png", "the PNG of its first frame"},
		"an animation without a limit":   {llm.Sight{}, "gifs", noise(9, 9), 1, "image/gif", ""},
		"everything, for unknown models": {llm.Sight{}, "png", wide, 40, "image/png", ""},
	} {
		t.Run(name, func(t *testing.T) {
			form, frames := strings.CutSuffix(tt.form, "s")
			data := encoded(t, tt.img, form, map[bool]int{false: 1, true: 3}[frames])
			var list []Picture
			for range tt.count {
				list = append(list, Picture{Image: llm.Image{MediaType: "image/" + form, Data: data}, Source: "s"})
			}
			if err := Fit(list, tt.sight); err != nil {
				t.Fatal(err)
			}
			for _, p := range list {
				if p.MediaType != tt.want || (p.Changed == "") != (tt.changed == "") || !strings.Contains(p.Changed, tt.changed) {
					t.Fatalf("got %s, %q, want %s with %q", p.MediaType, p.Changed, tt.want, tt.changed)
				}
				if same := bytes.Equal(p.Data, data); same != (tt.changed == "") {
					t.Fatalf("the bytes are the same: %v", same)
				}
				if read, err := Read(p.Data); err != nil || read.MediaType != tt.want || tt.sight.Bytes > 0 && inBase64(p.Data) > tt.sight.Bytes {
					t.Fatalf("%d bytes: %v, %v", len(p.Data), read.MediaType, err)
				}
			}
			if tt.sight.Total > 0 && size(list) > tt.sight.Total {
				t.Errorf("%d bytes in all, want at most %d", size(list), tt.sight.Total)
			}
		})
	}
}

func TestMorePicturesThanARequestTakes(t *testing.T) {
	list := make([]Picture, 101)
	for i := range list {
		list[i] = Picture{Image: llm.Image{MediaType: "image/png", Data: encoded(t, noise(9, 9), "png", 1)}}
	}
	if err := Fit(list, anthropic.Protocol.Sight); err == nil || !strings.Contains(err.Error(), "there are 101, and the provider takes 100") {
		t.Errorf("got %v", err)
	}
	if err := Fit(list[1:], anthropic.Protocol.Sight); err != nil {
		t.Error(err)
	}
}

// The pixels of a picture that is passed on as a frame are those of the frame.
func TestTheFirstFrameIsExact(t *testing.T) {
	data := encoded(t, noise(20, 10), "gif", 2)
	list := []Picture{{Image: llm.Image{MediaType: "image/gif", Data: data}}}
	if err := Fit(list, llm.Sight{NoGIF: true}); err != nil {
		t.Fatal(err)
	}
	want, err := gif.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(list[0].Data))
	if err != nil || got.Bounds() != want.Bounds() {
		t.Fatalf("got %v, %v", got, err)
	}
	for x := range 20 {
		for y := range 10 {
			if !same(got.At(x, y), want.At(x, y)) {
				t.Fatalf("pixel %d,%d is %v, want %v", x, y, got.At(x, y), want.At(x, y))
			}
		}
	}
}

func same(a, b color.Color) bool {
	r, g, bl, al := a.RGBA()
	r2, g2, b2, a2 := b.RGBA()
	return r == r2 && g == g2 && bl == b2 && al == a2
}

func FuzzRead(f *testing.F) {
	f.Add(encoded(f, noise(3, 3), "png", 1))
	f.Add(encoded(f, noise(3, 3), "gif", 2))
	f.Add(encoded(f, noise(3, 3), "jpeg", 1))
	f.Add([]byte(webp))
	f.Add(bomb())
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := Read(data)
		if err != nil {
			return
		}
		list := []Picture{{Image: i}}
		if err := Fit(list, llm.Sight{Bytes: 4000, Side: 50, NoGIF: true}); err == nil && (inBase64(list[0].Data) > 4000 || list[0].MediaType == "image/gif") {
			t.Errorf("%s with %d bytes is over the limits", list[0].MediaType, len(list[0].Data))
		}
	})
}
