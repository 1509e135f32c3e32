package app

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/libs/idempotency"
)

type plainSealer struct{}

func (plainSealer) Seal(plain []byte, place string) []byte {
	return []byte(place + "|" + string(plain))
}

func (plainSealer) Open(sealed []byte, place string) ([]byte, error) {
	if len(sealed) < len(place)+1 || string(sealed[:len(place)]) != place {
		return nil, errors.New("moved")
	}
	return sealed[len(place)+1:], nil
}

type vault struct {
	mu      sync.Mutex
	secrets []SealedSecret
	reads   atomic.Int32
	fail    error
}

func (v *vault) Valid(context.Context, SecretOwner) ([]SealedSecret, error) {
	v.reads.Add(1)
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]SealedSecret(nil), v.secrets...), v.fail
}

func (v *vault) Create(_ context.Context, _ SecretOwner, sealed []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.secrets) == 0 {
		v.secrets = []SealedSecret{{Generation: 1, Sealed: sealed}}
	}
	return nil
}

func (v *vault) Adopt(context.Context, SecretOwner, SealedSecret, int) error { return nil }

func (v *vault) Rotate(_ context.Context, _ SecretOwner, next SealedSecret, _ bool, _ idempotency.Key, a idempotency.Answer) (idempotency.Answer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	next.Generation = len(v.secrets) + 1
	v.secrets = append([]SealedSecret{next}, v.secrets...)
	return a, nil
}

// From the moment a rotation is answered, no attempt is signed without the new secret, although signing reads memory.
func TestSecrets_rotationIsSeenWhenItIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vault{}
		here, there := NewSecrets(v, plainSealer{}, time.Now), NewSecrets(v, plainSealer{}, time.Now) // two replicas
		o := SecretOwner{MerchantID: "m", Mode: "test"}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if keys, generation, err := there.Signing(t.Context(), o); err != nil || len(keys) != 1 || generation != 1 {
					t.Errorf("%d keys, generation %d, %v", len(keys), generation, err)
				}
			})
		}
		wg.Wait()
		if n := v.reads.Load(); n > 2 {
			t.Errorf("50 callers read the vault %d times", n)
		}
		time.Sleep(SecretTTL / 2)
		render := func(s Secret) (full, public []byte, err error) { return []byte(s.Text), nil, nil }
		if a, err := here.Rotate(t.Context(), o, false, idempotency.Key{}, render); err != nil || a.Replayed {
			t.Fatal(err)
		}
		if keys, generation, err := there.Signing(t.Context(), o); err != nil || len(keys) != 2 || generation != 2 {
			t.Errorf("after the answer: %d keys, generation %d, %v", len(keys), generation, err)
		}
		v.fail = errors.New("away")
		time.Sleep(SecretTTL)
		if _, _, err := there.Signing(t.Context(), o); err == nil {
			t.Error("signed with stale keys while the vault is away")
		}
	})
}
