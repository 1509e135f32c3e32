package evm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"causeway.internal/deploy/realchain/internal/node"
)

// finality gives the tags finalized and safe a meaning like that of a live chain: finalized trails the head by a number
// of blocks and never moves back, safe trails by half of that. The simulated backend's own tags jump in steps of 32
// blocks, and its safe is the head, so requests that name the tags are rewritten to heights before they reach it.
type finality struct {
	head func(context.Context) (block, error)

	mu      sync.Mutex
	depth   int64
	highest int64 // largest finalized height so far
}

// heights returns the finalized and the safe height now.
func (f *finality) heights(ctx context.Context) (finalized, safe int64, err error) {
	head, err := f.head(ctx)
	if err != nil {
		return 0, 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.highest = max(f.highest, head.Height-f.depth)
	finalized = min(f.highest, head.Height)
	return finalized, max(finalized, head.Height-f.depth/2), nil
}

// set changes the depth and forgets what was final before.
func (f *finality) set(depth int64) error {
	if depth < 0 || depth > 1_000_000 {
		return node.Refusal("depth must be 0..1000000")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.depth, f.highest = depth, 0
	return nil
}

// rewrite replaces the tags in a JSON-RPC request, alone or in a batch, by heights.
func (f *finality) rewrite(ctx context.Context, request []byte) ([]byte, error) {
	if !bytes.Contains(request, []byte(`"finalized"`)) && !bytes.Contains(request, []byte(`"safe"`)) {
		return request, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(request))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return request, nil //nolint:nilerr // the node answers what it thinks of it
	}
	finalized, safe, err := f.heights(ctx)
	if err != nil {
		return nil, err
	}
	tags := map[string]string{"finalized": fmt.Sprintf("0x%x", finalized), "safe": fmt.Sprintf("0x%x", safe)}
	return json.Marshal(replaceTags(root, tags))
}

func replaceTags(value any, tags map[string]string) any {
	switch v := value.(type) {
	case string:
		if height, found := tags[v]; found {
			return height
		}
	case []any:
		for i := range v {
			v[i] = replaceTags(v[i], tags)
		}
	case map[string]any:
		for name := range v {
			v[name] = replaceTags(v[name], tags)
		}
	}
	return value
}
