# tasks.pl: .vscode/tasks.json as VS Code reads it.
# usage: tasks.pl check          every task and matcher is in order, or says what is not
#        tasks.pl match FILE     of the lines of stdin those that the matcher takes for problems in FILE:
#                                "LINE:COLUMN severity words"
#        tasks.pl rounds FILE    the lines of FILE that begin and end a round of watch: one each
use strict;
use warnings;
use JSON::PP;

open my $in, '<', '.vscode/tasks.json' or die "tasks.json: $!\n";
my $all = decode_json(do { local $/; <$in> });
my ($how, $file) = @ARGV;
my %matchers;
for my $task (@{$all->{tasks}}) {
    my $matcher = $task->{problemMatcher};
    $matchers{$task->{label}} = $matcher if ref $matcher eq 'HASH';
}

if ($how eq 'check') {
    my %inputs = map { $_->{id} => 1 } @{$all->{inputs}};
    my ($wrong, $first) = (0, undef);
    my $say = sub { print "@_\n"; $wrong++ };
    my $json = JSON::PP->new->canonical;
    for my $task (@{$all->{tasks}}) {
        my $label = $task->{label};
        $say->("$label: is no process of make") if $task->{type} ne 'process' || $task->{command} ne 'make';
        my ($option, $goal, @words) = @{$task->{args}};
        $say->("$label: not make -s") if $option ne '-s';
        my $names = join ' ', map { /^([A-Z]+)=/ ? $1 : $say->("$label: $_ is no word") } @words;
        my $typo = `sh grader/make/typos.sh '$goal' '$names' ''`;
        $say->("$label: $typo") if $typo;
        for (map { /\$\{input:(\w+)\}/g } @words) { $say->("$label: there is no input $_") if !$inputs{$_} }
        my $asked = grep { $_ eq 'FORMAT=problems' } @words;
        $say->("$label: problems are asked for without a matcher, or the other way round")
            if $asked != exists $matchers{$label};
    }
    for my $label (sort keys %matchers) {
        my $pattern = $json->encode($matchers{$label}{pattern});
        $first //= $pattern;
        $say->("$label: another pattern") if $pattern ne $first;
        $say->("$label: not from the course's folder") if $matchers{$label}{fileLocation}[1] ne '${workspaceFolder}';
    }
    my ($cards) = grep { $_->{id} eq 'card' } @{$all->{inputs}};
    open my $c, '<', 'grader/cpu/cards/cards.c' or die;
    my %known = map { /^    \{"([a-z0-9]+)", "NVIDIA/ ? ($1 => 1) : () } <$c>;
    my %offered = map { $_ => 1 } @{$cards->{options}};
    $say->("the cards are not those of cards.c") if join(' ', sort keys %known) ne join(' ', sort keys %offered);
    $say->("there are only " . keys(%matchers) . " matchers") if keys %matchers < 3;
    exit($wrong ? 1 : 0);
}

if ($how eq 'match') {
    my $pattern = $matchers{grade}{pattern};
    while (my $line = <STDIN>) {
        chomp $line;
        my @group = $line =~ /$pattern->{regexp}/ or next;
        my ($path, $row, $column, $severity, $words) = map { $group[$pattern->{$_} - 1] } qw(file line column severity message);
        print "$row:$column $severity $words\n" if $path eq $file;
        print "another file: $path\n" if $path ne $file;
    }
    exit 0;
}

if ($how eq 'rounds') {
    my $background = $matchers{watch}{background};
    open my $said, '<', $file or die;
    my ($begun, $ended) = (0, 0);
    while (<$said>) {
        if (/$background->{beginsPattern}/) { $begun++ }
        if (/$background->{endsPattern}/) { $ended++ if $begun }
    }
    print "$begun begun, $ended ended\n";
    exit($begun == 1 && $ended == 1 ? 0 : 1);
}
die "usage: tasks.pl check | match FILE | rounds FILE\n";
