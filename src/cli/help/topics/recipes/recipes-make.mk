# One text for each *.prompt.md, asked for once: recordings are the cache, and belong into the repository.
# A build without changes asks nothing, also after make clean, and also without a key.
ask = gateway-cli text --quiet --record recordings --replay recordings
texts = $(patsubst %.prompt.md,%.txt,$(wildcard *.prompt.md))

all: $(texts)

%.txt: %.prompt.md
	$(ask) --prompt-file $< -o $@ --force

clean:
	rm -f $(texts)

.PHONY: all clean
