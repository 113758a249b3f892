# nbgrader for this course: its commands, its API and formgrader read this file.
from autograder.nbgrader_plugin import configure

c = get_config()

c.CourseDirectory.course_id = "attention"
# Students get what lies in assignments/, which `autograder build` writes too.
c.CourseDirectory.release_directory = "assignments"

# Grade in our sandbox, in place of a kernel. What can be set beside it, each with its default:
#   c.ObserveAndJudge.timeout = 10.0              seconds for one case of an exercise
#   c.ObserveAndJudge.memory = 1024               MiB that a submission may use
#   c.ObserveAndJudge.total = 120.0               seconds for a whole submission; there are
#                                                 .cpu, .output and .files too
#   c.ObserveAndJudge.seed = ""                   cases are drawn fresh for every run
#   c.ObserveAndJudge.allow_unsandboxed = False   grade where code cannot be isolated
configure(c)
