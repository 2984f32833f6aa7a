package grading

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/evaluate"
)

const (
	assetLimit   = 32 << 20 // bytes of one downloaded file, which memory holds
	assetTimeout = time.Minute
)

// assets returns the files that the tests of a row need beside its text. It takes them from
// folder, at ID/test_assets/PATH, or without a folder downloads them from the addresses in
// the row. A failed download is a Transient fault.
func assets(ctx context.Context, in dataset.Instance, folder string) ([]evaluate.Asset, error) {
	return evaluate.Assets(in.Fields["image_assets"], func(s evaluate.Source) ([]byte, error) {
		if folder != "" {
			return os.ReadFile(filepath.Join(folder, in.ID, "test_assets", filepath.FromSlash(s.Path)))
		}
		if s.URL == "" {
			return nil, fs.ErrNotExist
		}
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fault.Newf(fault.Instance, "downloading %s, which the tests need: %q is not an http address", s.Path, s.URL)
		}
		data, err := download(ctx, s.URL)
		if err != nil {
			return nil, fault.New(fault.Transient, "downloading "+s.Path+", which the tests need", err)
		}
		return data, nil
	})
}

func download(ctx context.Context, from string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, assetTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", from, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, assetLimit+1))
	if err == nil && len(data) > assetLimit {
		err = fmt.Errorf("%s: more than %d bytes", from, assetLimit)
	}
	return data, err
}
