// Package picture checks pictures that others made, and fits them into what a model's provider takes.
//
// Pictures are PNG, JPEG, GIF or WebP; what they are is read from their bytes, never from a name. A picture
// is changed only where the provider would refuse it, or a GIF where it refuses animations, and the change
// is told.
//
// Its API is not promised to other programs: see package batch.
package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // for image.Decode
	"image/jpeg"
	"image/png"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // for image.Decode

	"batch.example/batch/llm"
)

// Limit is the size in bytes of the largest picture that is read.
const Limit = 10 << 20

// mostPixels is the size of the largest picture that is decoded: a few bytes may stand for gigabytes. No
// provider takes a larger one.
const mostPixels = 8000 * 8000

// decoding holds back the work on other pictures: one may take a gigabyte of memory.
var decoding sync.Mutex

// Picture is a picture of a task.
type Picture struct {
	llm.Image
	Source  string // where it is from, for people
	Changed string // how it differs from there; empty: not at all
}

// Read checks that data is a whole picture, and returns it.
func Read(data []byte) (llm.Image, error) {
	kind, err := kindOf(data)
	if err != nil {
		return llm.Image{}, err
	}
	decoding.Lock()
	defer decoding.Unlock()
	_, err = decode(data)
	return llm.Image{MediaType: kind, Data: data}, err
}

// kindOf returns the media type of a picture.
func kindOf(data []byte) (string, error) {
	switch {
	case len(data) == 0:
		return "", errors.New("it is empty")
	case len(data) > Limit:
		return "", fmt.Errorf("it has more than %d bytes", Limit)
	}
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind, nil
	default:
		if bytes.Contains(data[:min(len(data), 1<<10)], []byte("<svg")) {
			kind = "image/svg+xml"
		}
		kind, _, _ = strings.Cut(kind, ";")
		return "", fmt.Errorf("it is %s, expected a PNG, JPEG, GIF or WebP", kind)
	}
}

// decode returns a picture's first frame. The caller holds decoding.
func decode(data []byte) (image.Image, error) {
	c, form, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it is broken: %w", err)
	case c.Width <= 0 || c.Height <= 0 || c.Width > mostPixels/c.Height:
		return nil, fmt.Errorf("it has %d x %d pixels, expected at most %d", c.Width, c.Height, mostPixels)
	}
	img, _, err := image.Decode(bytes.NewReader(pixels(data, form)))
	if err != nil {
		return nil, fmt.Errorf("the %s is broken: %w", strings.ToUpper(form), err)
	}
	return img, nil
}

// pixels returns a PNG without the chunks that say something about it, whose checksums programs that draw it do
// not check; other pictures are returned as they are.
func pixels(data []byte, form string) []byte {
	const signature, around = 8, 12 // bytes: of the file, and around the data of a chunk
	if form != "png" {
		return data
	}
	kept := slices.Clone(data[:signature])
	for rest := data[signature:]; len(rest) >= around; {
		size := around + int(binary.BigEndian.Uint32(rest))
		if size > len(rest) {
			return data // truncated
		}
		if name := string(rest[4:8]); name[0] <= 'Z' || name == "tRNS" {
			kept = append(kept, rest[:size]...)
		}
		rest = rest[size:]
	}
	return kept
}

// Fit changes pictures in place, so that a request with these and no others is within a provider's limits.
func Fit(list []Picture, s llm.Sight) error {
	if s.Most > 0 && len(list) > s.Most {
		return fmt.Errorf("there are %d, and the provider takes %d in a request", len(list), s.Most)
	}
	decoding.Lock()
	defer decoding.Unlock()
	if s.Many > 0 && len(list) > s.Many {
		s.Side = s.ManySide
	}
	for i := range list {
		if err := list[i].fit(s); err != nil {
			return err
		}
	}
	if share := s.Total / int64(max(1, len(list))); s.Total > 0 && size(list) > s.Total {
		s.Bytes = share
		for i := range list {
			if err := list[i].fit(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func size(list []Picture) (n int64) {
	for _, p := range list {
		n += inBase64(p.Data)
	}
	return n
}

func inBase64(data []byte) int64 { return int64(base64.StdEncoding.EncodedLen(len(data))) }

// fit changes a picture that is over the limits of one.
func (p *Picture) fit(s llm.Sight) error {
	c, _, err := image.DecodeConfig(bytes.NewReader(p.Data))
	if err != nil {
		return fmt.Errorf("%s: %w", p.Source, err)
	}
	frame := p.MediaType == "image/gif" && s.NoGIF
	wide := s.Side > 0 && max(c.Width, c.Height) > s.Side
	heavy := s.Bytes > 0 && inBase64(p.Data) > s.Bytes
	if !frame && !wide && !heavy {
		return nil
	}
	img, err := decode(p.Data)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Source, err)
	}
	if frame {
		p.change("sent as the PNG of its first frame")
	}
	if wide {
		img = shrink(img, float64(s.Side)/float64(max(c.Width, c.Height)))
	}
	data, kind, err := encode(img, p.MediaType)
	for err == nil && s.Bytes > 0 && inBase64(data) > s.Bytes {
		by := 0.9 * math.Sqrt(float64(s.Bytes)/float64(inBase64(data)))
		if b := img.Bounds(); b.Dx() == 1 && b.Dy() == 1 {
			return fmt.Errorf("%s: it cannot be made small enough: %w", p.Source, errors.ErrUnsupported)
		}
		img = shrink(img, by)
		data, kind, err = encode(img, p.MediaType)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.Source, err)
	}
	if b := img.Bounds(); b.Dx() != c.Width || b.Dy() != c.Height {
		p.change(fmt.Sprintf("scaled from %d x %d to %d x %d pixels, since the provider takes no more", c.Width, c.Height, b.Dx(), b.Dy()))
	}
	p.Data, p.MediaType = data, kind
	return nil
}

func (p *Picture) change(how string) {
	if p.Changed != "" {
		how = p.Changed + "; " + how
	}
	p.Changed = how
}

func shrink(img image.Image, by float64) image.Image {
	b := img.Bounds()
	side := func(n int) int { return max(1, int(float64(n)*by)) }
	to := image.NewRGBA(image.Rect(0, 0, side(b.Dx()), side(b.Dy())))
	draw.CatmullRom.Scale(to, to.Bounds(), img, b, draw.Src, nil)
	return to
}

// encode writes a JPEG as a JPEG, and everything else as a PNG.
func encode(img image.Image, kind string) ([]byte, string, error) {
	var b bytes.Buffer
	if kind == "image/jpeg" {
		err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 90})
		return b.Bytes(), kind, err
	}
	err := png.Encode(&b, img)
	return b.Bytes(), "image/png", err
}
