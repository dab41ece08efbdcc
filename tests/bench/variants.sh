# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Corpora of many inputs, for the measuring scripts.

# variants FROM TO NUMBER LENGTH: writes the inputs of FROM, and new inputs joined from pieces of them, into
# TO, named by content.
variants() {
	perl -MDigest::SHA=sha1_hex -e '
		my ($from, $to, $n, $most) = @ARGV;
		my (@found, %seen);
		srand(1);
		sub put {
			my $name = sha1_hex($_[0]);
			return if $seen{$name}++;
			open(my $f, ">:raw", "$to/$name") or die;
			print $f $_[0];
		}
		for my $file (sort glob "$from/*") {
			open(my $f, "<:raw", $file) or die;
			local $/;
			push @found, scalar <$f>;
		}
		put(substr($_, 0, $most)) for @found;
		while (keys %seen < $n) {
			my ($text, $want) = ("", 1 + int(rand($most)));
			while (length $text < $want) {
				my $one = $found[rand @found];
				$text .= substr($one, rand(length $one), 1 + rand(length $one));
			}
			put(substr($text, 0, $want));
		}' "$@"
}
