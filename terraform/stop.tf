# The hard stop. Every instance ends itself at the deadline, which it reads. This is the
# second line for those that could not, and removes the interface endpoints, which cost
# by the hour too. It stands before the first of either and finds them by their tag, so
# that an apply that fails halfway has its end too.
resource "terraform_data" "deadline" {
  input            = timeadd(timestamp(), "${var.max_hours}h") # of the apply, not of the plan
  triggers_replace = var.max_hours

  lifecycle {
    ignore_changes = [input] # make extend replaces it
  }
}

# Instances look here when their time is over, and go on if it was extended.
resource "aws_ssm_parameter" "deadline" {
  name        = "/${var.name}/deadline"
  description = "When the instances of the lab ${var.name} end themselves"
  type        = "String"
  value       = terraform_data.deadline.output
}

locals {
  hard_stop = timeadd(terraform_data.deadline.output, "15m")

  # One call after the other; one that finds nothing to end must not keep the next.
  stop_calls = [
    { name = "endpoints", api = "DescribeVpcEndpoints", selector = "$.VpcEndpoints..VpcEndpointId", filters = { vpc-endpoint-type = ["Interface"] } },
    { name = "deleteEndpoints", api = "DeleteVpcEndpoints", argument = { VpcEndpointIds = "{{ endpoints.ids }}" } },
    { name = "instances", api = "DescribeInstances", selector = "$.Reservations..Instances..InstanceId", filters = { instance-state-name = ["pending", "running", "stopping", "stopped"] } },
    { name = "terminateInstances", api = "TerminateInstances", argument = { InstanceIds = "{{ instances.ids }}" } },
  ]
}

resource "aws_ssm_document" "stop" {
  name            = "${var.name}-stop"
  document_type   = "Automation"
  document_format = "JSON"

  content = jsonencode({
    schemaVersion = "0.3"
    description   = "Ends everything of the lab ${var.name} that costs by the hour"
    assumeRole    = aws_iam_role.lab["ssm"].arn
    mainSteps = [for call in local.stop_calls : merge(
      {
        name        = call.name
        action      = "aws:executeAwsApi"
        maxAttempts = 5 # EC2 may throttle a call
        onFailure   = "Continue"
        inputs = merge(
          { Service = "ec2", Api = call.api },
          can(call.filters) ? { Filters = [for name, values in merge({ "tag:Lab" = [var.name] }, call.filters) : { Name = name, Values = values }] } : {},
          can(call.argument) ? call.argument : {},
        )
      },
      can(call.selector) ? { outputs = [{ Name = "ids", Selector = call.selector, Type = "StringList" }] } : {},
    )]
  })

  depends_on = [aws_iam_role_policy.stop]
}

resource "aws_scheduler_schedule" "stop" {
  name                = "${var.name}-stop"
  description         = "Ends the lab ${var.name} if nobody did"
  schedule_expression = "at(${formatdate("YYYY-MM-DD'T'hh:mm:ss", local.hard_stop)})"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = "arn:aws:scheduler:::aws-sdk:ssm:startAutomationExecution"
    role_arn = aws_iam_role.lab["scheduler"].arn
    input    = jsonencode({ DocumentName = aws_ssm_document.stop.name })

    retry_policy {
      maximum_retry_attempts = 10
    }
  }

  lifecycle {
    precondition {
      condition     = timecmp(local.hard_stop, plantimestamp()) > 0
      error_message = "The deadline of this lab is over (${terraform_data.deadline.output}), so that nothing would end what is made now: make extend sets a new one, or make destroy removes the lab."
    }
  }

  depends_on = [aws_iam_role_policy.stop]
}

# The scheduler starts the document, and Systems Manager carries it out.
resource "aws_iam_role_policy" "stop" {
  for_each = {
    scheduler = [
      {
        Effect   = "Allow"
        Action   = ["ssm:StartAutomationExecution"]
        Resource = [for kind in ["automation-definition/${var.name}-stop:*", "document/${var.name}-stop", "automation-execution/*"] : "arn:aws:ssm:${local.place}:${kind}"]
      },
      { Effect = "Allow", Action = ["iam:PassRole"], Resource = [aws_iam_role.lab["ssm"].arn], Condition = { StringEquals = { "iam:PassedToService" = "ssm.amazonaws.com" } } },
    ]
    ssm = [
      { Effect = "Allow", Action = ["ec2:DescribeInstances", "ec2:DescribeVpcEndpoints"], Resource = ["*"] }, # these have no resource of their own
      { Effect = "Allow", Action = ["ec2:TerminateInstances", "ec2:DeleteVpcEndpoints"], Resource = ["*"], Condition = { StringEquals = { "aws:ResourceTag/Lab" = var.name } } },
    ]
  }

  name   = "stop"
  role   = aws_iam_role.lab[each.key].id
  policy = jsonencode({ Version = "2012-10-17", Statement = each.value })
}
